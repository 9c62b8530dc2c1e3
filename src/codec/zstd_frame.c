/* Walking Zstandard's frames and blocks. SPDX-License-Identifier: Apache-2.0 */
#include "codec/zstd_frame.h"

#include <inttypes.h>

#include "codec/codec.h"
#include "codec/zstd_counts.h"
#include "core/bytes.h"
#include "core/checked.h"

#define FRAME_MAGIC UINT32_C(0xFD2FB528)
#define SKIPPABLE_MAGIC UINT32_C(0x184D2A50)
#define MAX_WINDOW_LOG 31
#define MIN_MATCH 3
#define NOWHERE UINT32_MAX

/* What is left to read of some part of the stream. */
typedef struct reader {
    const uint8_t *src; /* the stream */
    uint32_t at, end;
} reader;

/* What blocks of a frame take over from those before. */
typedef struct memory {
    uint32_t tree;
    hr__zstd_table kinds[HR__ZSTD_NCODES];
    uint32_t places[HR__ZSTD_NCODES];
} memory;

static hr_status fail_at(const reader *r, const char *what, hr_error *err) {
    return hr__fail(err, HR_ERR_DATA, "zstd data, byte %u: %s", r->at, what);
}

/* nbytes little-endian, at most 8. */
static hr_status read_number(reader *r, uint32_t nbytes, uint64_t *out, hr_error *err) {
    if (r->end - r->at < nbytes) {
        return fail_at(r, "end within a header", err);
    }
    uint64_t value = 0;
    for (uint32_t i = 0; i < nbytes; i++) {
        value |= (uint64_t)r->src[r->at + i] << (8 * i);
    }
    r->at += nbytes;
    *out = value;
    return HR_OK;
}

static hr_status skip(reader *r, uint64_t nbytes, hr_error *err) {
    if (nbytes > r->end - r->at) {
        return fail_at(r, "end within a block or a frame", err);
    }
    r->at += (uint32_t)nbytes;
    return HR_OK;
}

/* --- literals --- */

static hr_status plain_literals(reader *r, unsigned format, hr__zstd_block *b,
                                hr_error *err) {
    static const uint32_t nbytes[] = {1, 2, 1, 3}, shifts[] = {3, 4, 3, 4};
    uint64_t header;
    HR__TRY(read_number(r, nbytes[format], &header, err));
    b->nliterals = (uint32_t)(header >> shifts[format]);
    b->literals = r->at;
    b->literals_nbytes = b->literals_kind == HR__ZSTD_RLE ? 1 : b->nliterals;
    return skip(r, b->literals_nbytes, err);
}

/* The description of a Huffman code: its size is in its first byte. */
static hr_status skip_tree(reader *r, uint32_t *tree, hr_error *err) {
    uint64_t first;
    *tree = r->at;
    HR__TRY(read_number(r, 1, &first, err));
    return skip(r, first >= 128 ? (first - 127 + 1) / 2 : first, err);
}

static hr_status coded_literals(reader *r, unsigned format, bool has_tree, memory *m,
                                hr__zstd_block *b, hr_error *err) {
    static const uint32_t nbytes[] = {3, 3, 4, 5}, widths[] = {10, 10, 14, 18};
    uint64_t header;
    HR__TRY(read_number(r, nbytes[format], &header, err));
    const uint64_t mask = (UINT64_C(1) << widths[format]) - 1;
    b->nliterals = (uint32_t)(header >> 4 & mask);
    uint32_t coded = (uint32_t)(header >> (4 + widths[format]) & mask);
    reader part = *r;
    HR__TRY(skip(r, coded, err));
    part.end = r->at;
    if (has_tree) {
        HR__TRY(skip_tree(&part, &m->tree, err));
    }
    if (m->tree == NOWHERE) {
        return fail_at(&part, "literals without a Huffman code", err);
    }
    b->tree = m->tree;
    b->nstreams = format == 0 ? 1 : 4;
    b->literals = part.at;
    b->literals_nbytes = part.end - part.at;
    /* Four streams have a table of 6 bytes and a byte each; fewer than 6 literals cannot
     * be divided by the rule. */
    if (b->nstreams == 4 ? b->literals_nbytes < 10 || b->nliterals < 6
                         : b->literals_nbytes < 1 || b->nliterals < 1) {
        return fail_at(&part, "too few literals for their streams", err);
    }
    return HR_OK;
}

static hr_status read_literals(reader *r, memory *m, hr__zstd_block *b, hr_error *err) {
    if (r->at == r->end) {
        return fail_at(r, "empty block of sequences", err);
    }
    unsigned type = r->src[r->at] & 3;
    unsigned format = r->src[r->at] >> 2 & 3;
    b->literals_kind = type == 0   ? HR__ZSTD_RAW
                       : type == 1 ? HR__ZSTD_RLE
                                   : HR__ZSTD_CODED;
    return type < 2 ? plain_literals(r, format, b, err)
                    : coded_literals(r, format, type == 2, m, b, err);
}

/* --- sequences --- */

static hr_status read_table(reader *r, unsigned mode, int code, memory *m,
                            hr_error *err) {
    static const hr__zstd_limits limits[HR__ZSTD_NCODES] = {{35, 9}, {31, 8}, {52, 9}};
    if (mode == 3) {
        return m->places[code] == NOWHERE
                   ? fail_at(r, "a table is to be repeated that never was", err)
                   : HR_OK;
    }
    m->kinds[code] = (hr__zstd_table)mode;
    m->places[code] = r->at;
    if (mode == HR__ZSTD_SINGLE) {
        uint64_t symbol;
        HR__TRY(read_number(r, 1, &symbol, err));
        return symbol > limits[code].max_symbol
                   ? fail_at(r, "a table of a symbol that is none", err)
                   : HR_OK;
    }
    if (mode == HR__ZSTD_DESCRIBED) {
        uint32_t used =
            hr__zstd_counts_nbytes(r->src + r->at, r->end - r->at, &limits[code]);
        return used == 0 ? fail_at(r, "malformed table", err) : skip(r, used, err);
    }
    return HR_OK;
}

static hr_status read_sequences(reader *r, memory *m, hr__zstd_block *b, hr_error *err) {
    uint64_t n, more = 0;
    HR__TRY(read_number(r, 1, &n, err));
    if (n >= 128) {
        HR__TRY(read_number(r, n == 255 ? 2 : 1, &more, err));
        n = n == 255 ? more + 0x7F00 : ((n - 128) << 8) + more;
    }
    b->nsequences = (uint32_t)n;
    if (n * MIN_MATCH > b->max_nbytes) {
        /* libzstd does not look: it shall say what it makes of that. */
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "zstd data, byte %u: more sequences than a block has bytes",
                        r->at);
    }
    if (n == 0) {
        return r->at == r->end ? HR_OK : fail_at(r, "bytes behind the last literal", err);
    }
    uint64_t modes;
    HR__TRY(read_number(r, 1, &modes, err));
    if ((modes & 3) != 0) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "zstd data, byte %u: reserved bits",
                        r->at - 1);
    }
    for (int code = 0; code < HR__ZSTD_NCODES; code++) {
        HR__TRY(read_table(r, (unsigned)(modes >> (6 - 2 * code) & 3), code, m, err));
        b->tables[code].kind = m->kinds[code];
        b->tables[code].at = m->places[code];
    }
    b->sequences = r->at;
    b->sequences_nbytes = r->end - r->at;
    return b->sequences_nbytes == 0 ? fail_at(r, "sequences without bits", err) : HR_OK;
}

/* --- blocks and frames --- */

static hr_status read_content(reader *r, memory *m, uint32_t max_nbytes,
                              hr__zstd_block *b, uint32_t nbytes, hr_error *err) {
    reader body = *r;
    HR__TRY(skip(r, b->kind == HR__ZSTD_RLE ? 1 : nbytes, err));
    body.end = r->at;
    if (b->kind != HR__ZSTD_CODED) {
        b->literals_kind = b->kind;
        b->literals = body.at;
        b->literals_nbytes = body.end - body.at;
        b->nliterals = nbytes;
        return HR_OK;
    }
    if (nbytes > max_nbytes) {
        return fail_at(&body, "a block is larger than the frame allows", err);
    }
    HR__TRY(read_literals(&body, m, b, err));
    if (b->nliterals > max_nbytes) {
        return fail_at(&body, "a block has more literals than the frame allows", err);
    }
    return read_sequences(&body, m, b, err);
}

static hr_status read_blocks(const hr_allocator *a, reader *r, uint64_t window,
                             hr__zstd_stream *out, hr_error *err) {
    const uint32_t max_nbytes =
        window < HR__ZSTD_MAX_BLOCK_NBYTES ? (uint32_t)window : HR__ZSTD_MAX_BLOCK_NBYTES;
    memory m = {.tree = NOWHERE, .places = {NOWHERE, NOWHERE, NOWHERE}};
    bool is_first = true;
    uint64_t header = 0;
    while ((header & 1) == 0) {
        hr__zstd_block b = {.at = r->at,
                            .begins_frame = is_first,
                            .max_nbytes = max_nbytes,
                            .farthest = window < HR__ZSTD_MOST_NBYTES
                                            ? (uint32_t)window
                                            : HR__ZSTD_MOST_NBYTES,
                            .content_nbytes = HR__SIZE_UNKNOWN};
        if (out->most_blocks != 0 && out->blocks.n >= out->most_blocks) {
            return hr__fail(err, HR_ERR_UNSUPPORTED, "zstd data of more than %zu blocks",
                            out->most_blocks);
        }
        HR__TRY(read_number(r, 3, &header, err));
        if ((header >> 1 & 3) == 3) {
            return fail_at(r, "a block of no kind", err);
        }
        b.kind = (hr__zstd_kind)(header >> 1 & 3);
        HR__TRY(read_content(r, &m, max_nbytes, &b, (uint32_t)(header >> 3), err));
        hr__zstd_block *place = hr__vec_push(a, &out->blocks, sizeof b);
        if (place == NULL) {
            return hr__fail_memory(err, sizeof b);
        }
        *place = b;
        is_first = false;
    }
    return HR_OK;
}

/* The window's size, or the content's where the frame is a single segment. */
static hr_status read_window(reader *r, unsigned descriptor, uint64_t *window,
                             hr_error *err) {
    if ((descriptor & 0x20) != 0) {
        return HR_OK;
    }
    uint64_t byte;
    HR__TRY(read_number(r, 1, &byte, err));
    uint64_t log = 10 + (byte >> 3);
    if (log > MAX_WINDOW_LOG) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "zstd window of 2^%u bytes",
                        (unsigned)log);
    }
    *window = (UINT64_C(1) << log) + ((UINT64_C(1) << log) >> 3) * (byte & 7);
    return HR_OK;
}

static hr_status read_frame(const hr_allocator *a, reader *r, hr__zstd_stream *out,
                            hr_error *err) {
    static const uint32_t id_nbytes[] = {0, 1, 2, 4}, size_nbytes[] = {0, 2, 4, 8};
    uint64_t descriptor, dictionary, content, window = 0, checksum;
    HR__TRY(read_number(r, 1, &descriptor, err));
    if ((descriptor & 8) != 0) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "zstd frame with a reserved bit");
    }
    HR__TRY(read_window(r, (unsigned)descriptor, &window, err));
    HR__TRY(read_number(r, id_nbytes[descriptor & 3], &dictionary, err));
    if (dictionary != 0) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "zstd frame needs dictionary %u",
                        (unsigned)dictionary);
    }
    bool is_single = (descriptor & 0x20) != 0;
    uint32_t n = size_nbytes[descriptor >> 6];
    n = n == 0 && is_single ? 1 : n;
    HR__TRY(read_number(r, n, &content, err));
    content += n == 2 ? 256 : 0;
    window = is_single ? content : window;
    if (n == 0 || out->content_nbytes == HR__SIZE_UNKNOWN) {
        out->content_nbytes = HR__SIZE_UNKNOWN;
    } else if (!hr__add_u64(out->content_nbytes, content, &out->content_nbytes)) {
        return fail_at(r, "frames declare more bytes than there can be", err);
    }
    HR__TRY(read_blocks(a, r, window, out, err));
    hr__zstd_block *last = (hr__zstd_block *)out->blocks.items + out->blocks.n - 1;
    last->content_nbytes = n > 0 ? content : HR__SIZE_UNKNOWN;
    if ((descriptor & 4) != 0) {
        HR__TRY(read_number(r, 4, &checksum, err));
        last->has_checksum = true;
        last->checksum = (uint32_t)checksum;
    }
    return HR_OK;
}

static uint64_t aligned(uint64_t n) {
    return (n + 15) / 16 * 16;
}

uint32_t hr__zstd_made_literals(const hr__zstd_block *b) {
    bool is_made = b->kind == HR__ZSTD_CODED && b->literals_kind != HR__ZSTD_RAW;
    return is_made ? b->nliterals : 0;
}

static uint32_t least(uint64_t a, uint64_t b) {
    return (uint32_t)(a < b ? a : b);
}

/* The codes of offsets: up to the farthest; then, for each of three from before the
 * block, that one less a number for each sequence. */
hr__zstd_room hr__zstd_room_of(const hr__zstd_block *b, uint64_t dst_nbytes) {
    hr__zstd_room room = {.farthest = least(b->farthest, dst_nbytes)};
    const uint32_t last = room.farthest + 3 * HR__ZSTD_MOST_SEQUENCES;
    while (last >> room.offset_bits != 0) {
        room.offset_bits++;
    }
    room.match_bits = (32 - room.offset_bits + 1) / 2;
    const uint32_t literal_bits = 32 - room.offset_bits - room.match_bits;
    const uint32_t least_long =
        least(UINT64_C(1) << room.match_bits, (1U << literal_bits) - 1 + MIN_MATCH);
    room.most_longs = least(b->nsequences, least(b->max_nbytes, dst_nbytes) / least_long);
    room.longs = aligned(b->nsequences * sizeof(uint32_t));
    room.nbytes = room.longs + aligned(room.most_longs * sizeof(uint64_t));
    return room;
}

#define LEAST_ROOM 4096

hr_status hr__zstd_stream_room(const hr__zstd_block *blocks, size_t n,
                               uint64_t dst_nbytes, uint64_t *room, hr_error *err) {
    uint64_t nliterals = 0, nbytes = 0;
    for (size_t i = 0; i < n; i++) {
        nliterals += hr__zstd_made_literals(&blocks[i]);
        nbytes += hr__zstd_room_of(&blocks[i], dst_nbytes).nbytes;
    }
    if (nliterals > dst_nbytes) {
        return hr__fail(err, HR_ERR_DATA,
                        "zstd frames have %" PRIu64 " literals, expected %" PRIu64
                        " bytes",
                        nliterals, dst_nbytes);
    }
    if (nbytes > LEAST_ROOM && nbytes > dst_nbytes + dst_nbytes / 4) {
        return hr__fail(err, HR_ERR_UNSUPPORTED,
                        "zstd frames whose sequences are %" PRIu64
                        " bytes in kernels, for an output of %" PRIu64,
                        nbytes, dst_nbytes);
    }
    *room = nbytes;
    return HR_OK;
}

hr_status hr__zstd_walk(const hr_allocator *a, const uint8_t *src, size_t src_nbytes,
                        hr__zstd_stream *out, hr_error *err) {
    if (src_nbytes >= NOWHERE) {
        return hr__fail(err, HR_ERR_UNSUPPORTED, "%zu bytes of zstd data in one stream",
                        src_nbytes);
    }
    reader r = {.src = src, .at = 0, .end = (uint32_t)src_nbytes};
    out->content_nbytes = 0;
    while (r.at < r.end) {
        uint64_t magic, nbytes;
        HR__TRY(read_number(&r, 4, &magic, err));
        if ((magic & ~UINT64_C(15)) == SKIPPABLE_MAGIC) {
            HR__TRY(read_number(&r, 4, &nbytes, err));
            HR__TRY(skip(&r, nbytes, err));
        } else if (magic == FRAME_MAGIC) {
            HR__TRY(read_frame(a, &r, out, err));
        } else {
            return hr__fail(err, HR_ERR_DATA, "zstd data, byte %u: no frame begins here",
                            r.at - 4);
        }
    }
    return HR_OK;
}
