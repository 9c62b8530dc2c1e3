/* The axes of a stack as OME-XML has them. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "format/tiff/internal.h"

/* The axes beyond x and y: letters, and what they are called here. */
static const char letters[] = "ZCT";
static const char *const names[] = {"slice", "channel", "frame"};
enum { NAXES = 3, CHANNEL = 1 };

static int64_t number_of(hr__tiff_span element, const char *name, int64_t absent) {
    hr__tiff_span value;
    char text[20];
    if (!hr__tiff_xml_attribute(element, name, &value) || value.n >= sizeof text) {
        return absent;
    }
    memcpy(text, value.at, value.n);
    text[value.n] = '\0';
    return strtoll(text, NULL, 10);
}

/* A number for each letter; of channels those that are samples of a page are one. */
static bool read_numbers(hr__tiff_span element, const char *const *attributes,
                         int64_t absent, int64_t nsamples, int64_t numbers[NAXES]) {
    for (int i = 0; i < NAXES; i++) {
        numbers[i] = number_of(element, attributes[i], absent);
    }
    bool is_whole = numbers[CHANNEL] % nsamples == 0;
    numbers[CHANNEL] /= nsamples;
    return is_whole;
}

/* "XYZCT": which axis changes fastest from page to page, the next, and the slowest. */
static bool read_order(hr__tiff_span pixels, int order[NAXES]) {
    hr__tiff_span text;
    bool has[NAXES] = {false};
    if (!hr__tiff_xml_attribute(pixels, "DimensionOrder", &text) || text.n != 2 + NAXES ||
        memcmp(text.at, "XY", 2) != 0) {
        return false;
    }
    for (int i = 0; i < NAXES; i++) {
        const char *letter = memchr(letters, text.at[2 + i], NAXES);
        order[i] = letter == NULL ? 0 : (int)(letter - letters);
        if (letter == NULL || has[order[i]]) {
            return false;
        }
        has[order[i]] = true;
    }
    return true;
}

/* Are pages said to be where the order has them? */
static bool is_in_order(const char *xml, const int order[NAXES],
                        const int64_t counts[NAXES], int64_t nsamples) {
    static const char *const firsts[] = {"FirstZ", "FirstC", "FirstT"};
    hr__tiff_span data;
    int64_t at[NAXES];
    while (hr__tiff_xml_next(&xml, "TiffData", &data)) {
        int64_t page = 0;
        if (!read_numbers(data, firsts, 0, nsamples, at)) {
            return false;
        }
        for (int i = NAXES; i-- > 0;) {
            if (at[order[i]] < 0 || at[order[i]] >= counts[order[i]]) {
                return false;
            }
            page = page * counts[order[i]] + at[order[i]];
        }
        if (page != number_of(data, "IFD", 0)) {
            return false;
        }
    }
    return true;
}

bool hr__tiff_ome_axes(const char *xml, int64_t npages, int64_t nsamples,
                       hr__tiff_stack *s) {
    static const char *const sizes[] = {"SizeZ", "SizeC", "SizeT"};
    hr__tiff_span pixels, other;
    int order[NAXES];
    int64_t counts[NAXES], product = 1;
    const char *rest = xml;
    if (!hr__tiff_xml_next(&rest, "Pixels", &pixels) || !read_order(pixels, order) ||
        !read_numbers(pixels, sizes, 1, nsamples, counts)) {
        return false;
    }
    for (int i = 0; i < NAXES; i++) {
        if (counts[i] < 1 || counts[i] > npages / product) {
            return false;
        }
        product *= counts[i];
    }
    const char *behind = rest;
    bool is_only_image = !hr__tiff_xml_next(&behind, "Pixels", &other);
    if (product != npages || product == 1 || !is_only_image ||
        !is_in_order(rest, order, counts, nsamples)) {
        return false;
    }
    for (int i = NAXES; i-- > 0;) {
        if (counts[order[i]] > 1) {
            s->shape[s->naxes] = counts[order[i]];
            s->names[s->naxes++] = names[order[i]];
        }
    }
    return true;
}
