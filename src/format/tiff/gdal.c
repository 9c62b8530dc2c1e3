/* The metadata that GDAL keeps in a tag. SPDX-License-Identifier: Apache-2.0
 *
 * A flat list of <Item name="" sample="" role="" domain="">text</Item>: no more of XML
 * than that is read. */
#include <stdlib.h>
#include <string.h>

#include "format/tiff/internal.h"

static hr__tiff_span take_until(const char **p, const char *end) {
    const char *stop = strstr(*p, end);
    hr__tiff_span s = {.at = *p, .n = stop == NULL ? strlen(*p) : (size_t)(stop - *p)};
    *p = stop == NULL ? *p + s.n : stop + strlen(end);
    return s;
}

/* One of XML's five entities at p: the character, and how long it is written. */
static char entity(const char *p, size_t n, size_t *length) {
    static const struct {
        const char *text;
        char c;
    } entities[] = {
        {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++) {
        *length = strlen(entities[i].text);
        if (*length <= n && memcmp(p, entities[i].text, *length) == 0) {
            return entities[i].c;
        }
    }
    *length = 1;
    return *p;
}

/* Put characters for entities, in place; returns how many are left. */
static size_t unescape(char *text, size_t n) {
    size_t made = 0;
    for (size_t i = 0, length; i < n; i += length) {
        text[made++] = entity(text + i, n - i, &length);
    }
    return made;
}

/* GDAL escapes what it writes, as text and again as XML. */
static json_object *text_of(hr__tiff_span s, hr__arena *arena) {
    char *text = hr__arena_copy(arena, s.at, s.n + 1); /* a NUL is behind the XML */
    if (text == NULL) {
        return NULL;
    }
    return hr__tiff_json_text(text, unescape(text, unescape(text, s.n)));
}

static void add_attribute(json_object *object, hr__tiff_span item, const char *name,
                          hr__arena *arena) {
    hr__tiff_span value;
    if (hr__tiff_xml_attribute(item, name, &value)) {
        json_object_object_add(object, name, text_of(value, arena));
    }
}

static json_object *read_items(const char *xml, hr__arena *arena) {
    json_object *list = json_object_new_array();
    hr__tiff_span head;
    while (hr__tiff_xml_next(&xml, "Item", &head)) {
        xml += *xml == '>';
        bool is_empty = head.n > 0 && head.at[head.n - 1] == '/';
        hr__tiff_span text =
            is_empty ? (hr__tiff_span){.at = xml} : take_until(&xml, "</Item>");
        json_object *item = json_object_new_object();
        add_attribute(item, head, "name", arena);
        add_attribute(item, head, "sample", arena);
        add_attribute(item, head, "role", arena);
        add_attribute(item, head, "domain", arena);
        json_object_object_add(item, "value", text_of(text, arena));
        json_object_array_add(list, item);
    }
    return list;
}

/* --- scale and offset --- */

static const char *member(json_object *item, const char *name) {
    json_object *value = NULL;
    return json_object_object_get_ex(item, name, &value) ? json_object_get_string(value)
                                                         : "";
}

/* A decimal number, whatever the locale says of its point. */
static bool parse_number(const char *text, double *out) {
    json_object *value = json_tokener_parse(text);
    bool is_number = json_object_is_type(value, json_type_double) ||
                     json_object_is_type(value, json_type_int);
    *out = is_number ? json_object_get_double(value) : *out;
    json_object_put(value);
    return is_number;
}

/* One number for each sample; `absent` where nothing is said. */
static void add_role(json_object *items, const char *role, double absent,
                     int64_t nsamples, const char *one, const char *all, hr__arena *arena,
                     json_object *attributes) {
    double *values = hr__arena_array(arena, (size_t)nsamples, sizeof *values);
    bool is_given = false;
    bool is_same = true;
    if (values == NULL) {
        return;
    }
    for (int64_t i = 0; i < nsamples; i++) {
        values[i] = absent;
    }
    for (size_t i = 0; i < json_object_array_length(items); i++) {
        json_object *item = json_object_array_get_idx(items, i);
        long sample = strtol(member(item, "sample"), NULL, 10);
        if (strcmp(member(item, "role"), role) == 0 && sample >= 0 && sample < nsamples) {
            is_given |= parse_number(member(item, "value"), &values[sample]);
        }
    }
    for (int64_t i = 1; i < nsamples; i++) {
        is_same = is_same && values[i] == values[0];
    }
    if (is_given && is_same) {
        json_object_object_add(attributes, one, hr__tiff_json_number(values[0]));
    } else if (is_given) {
        hr__tiff_json_list(attributes, all, values, (uint64_t)nsamples);
    }
}

hr_status hr__tiff_gdal(hr__tiff_file *file, const hr__tiff_ifd *ifd, int64_t nsamples,
                        json_object *attributes, hr_error *err) {
    char *xml;
    uint64_t nbytes;
    HR__TRY(hr__tiff_bytes(file, ifd, HR__TIFF_GDAL_METADATA, &xml, &nbytes, err));
    if (xml == NULL) {
        return HR_OK;
    }
    json_object *items = read_items(xml, file->arena);
    add_role(items, "scale", 1, nsamples, "scale_factor", "scales", file->arena,
             attributes);
    add_role(items, "offset", 0, nsamples, "add_offset", "offsets", file->arena,
             attributes);
    json_object_object_add(attributes, "GDAL_METADATA", items);
    return HR_OK;
}

/* --- of the whole file --- */

static const char structure_start[] = "GDAL_STRUCTURAL_METADATA_SIZE=";
enum {
    STRUCTURE_HEADER_NBYTES = 43, /* with six digits and " bytes\n" */
    STRUCTURE_MAX_NBYTES = 4096
};

/* "NAME=value" lines as members. */
static void add_lines(const char *text, json_object *object) {
    while (*text != '\0') {
        hr__tiff_span line = take_until(&text, "\n");
        const char *value = memchr(line.at, '=', line.n);
        char name[64];
        size_t n = value == NULL ? 0 : (size_t)(value - line.at);
        if (n == 0 || n >= sizeof name ||
            strspn(line.at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") != n) {
            continue;
        }
        memcpy(name, line.at, n);
        name[n] = '\0';
        json_object_object_add(object, name,
                               hr__tiff_json_text(value + 1, line.n - n - 1));
    }
}

hr_status hr__tiff_structure(hr__tiff_file *file, json_object *attributes,
                             hr_error *err) {
    const uint64_t at = file->is_big ? HR__TIFF_BIG_HEADER : HR__TIFF_CLASSIC_HEADER;
    char text[STRUCTURE_MAX_NBYTES + 1] = "";
    if (file->source->nbytes < at + STRUCTURE_HEADER_NBYTES) {
        return HR_OK;
    }
    HR__TRY(hr__tiff_read(file, at, STRUCTURE_HEADER_NBYTES, text, "header", err));
    if (strncmp(text, structure_start, sizeof structure_start - 1) != 0) {
        return HR_OK;
    }
    const uint64_t rest = file->source->nbytes - at - STRUCTURE_HEADER_NBYTES;
    uint64_t n = strtoul(text + sizeof structure_start - 1, NULL, 10);
    n = n < STRUCTURE_MAX_NBYTES ? n : STRUCTURE_MAX_NBYTES;
    n = n < rest ? n : rest;
    HR__TRY(hr__tiff_read(file, at + STRUCTURE_HEADER_NBYTES, n, text, "header", err));
    text[n] = '\0';
    if (strstr(text, "KNOWN_INCOMPATIBLE_EDITION=YES") == NULL) {
        json_object *object = json_object_new_object();
        add_lines(text, object);
        json_object_object_add(attributes, "structural_metadata", object);
    }
    return HR_OK;
}
