/* Shared by the files of the TIFF reader. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_FORMAT_TIFF_INTERNAL_H
#define HR_FORMAT_TIFF_INTERNAL_H

#include "format/tiff/tiff.h"

/* file.c: the file behind a window, and its header */

typedef struct hr__tiff_file {
    const hr__byte_source *source;
    hr__arena *arena;
    uint64_t max_nbytes; /* that the values of a tag may take */
    bool is_big_endian, is_big;
    uint64_t first_ifd;
    uint8_t *window; /* the bytes read last */
    uint64_t window_at, window_nbytes;
    uint64_t ifds_nbytes;         /* of all directories read */
    struct hr__tiff_file *beside; /* with overviews; NULL: there is none */
    const char *key;              /* in the store */
} hr__tiff_file;

enum { HR__TIFF_CLASSIC_HEADER = 8, HR__TIFF_BIG_HEADER = 16 }; /* bytes */

hr_status hr__tiff_file_open(const hr__byte_source *source, uint64_t max_nbytes,
                             hr__arena *arena, hr__tiff_file *file, hr_error *err);
/* HR_ERR_METADATA naming `what` where they are not all in the file. */
hr_status hr__tiff_read(hr__tiff_file *file, uint64_t at, uint64_t nbytes, void *dst,
                        const char *what, hr_error *err);
/* An unsigned number of the file, of 1 to 8 bytes. */
uint64_t hr__tiff_number(const hr__tiff_file *file, const uint8_t *p, uint32_t nbytes);

/* ifd.c: directories */

typedef struct hr__tiff_entry {
    uint16_t tag, type;
    uint64_t count;
    uint64_t at; /* of the values in the file */
} hr__tiff_entry;

typedef struct hr__tiff_ifd {
    uint64_t at, next; /* next: 0 at the end */
    uint32_t n;
    hr__tiff_entry *entries; /* as they stand */
} hr__tiff_ifd;

hr_status hr__tiff_ifd_read(hr__tiff_file *file, uint64_t at, hr__tiff_ifd *ifd,
                            hr_error *err);
/* Is it an overview? Is it a mask? */
hr_status hr__tiff_ifd_kind(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                            bool *is_overview, bool *is_mask, hr_error *err);
/* *is_over, false before, is set where no more are wanted. */
typedef hr_status hr__tiff_visit(void *user, const hr__tiff_ifd *ifd, bool *is_over,
                                 hr_error *err);
/* Visit the IFDs of the main chain behind `ifd`, `most` of them. */
hr_status hr__tiff_ifd_each(hr__tiff_file *file, const hr__tiff_ifd *ifd, uint64_t most,
                            hr__tiff_visit *visit, void *user, hr_error *err);
/* That one of the main chain. */
hr_status hr__tiff_ifd_find(hr__tiff_file *file, uint64_t number, hr__tiff_ifd *ifd,
                            hr_error *err);

/* levels.c: overviews */

typedef struct hr__tiff_image {
    hr__tiff_file *file;
    hr__tiff_ifd ifd;
    bool is_page; /* of a stack: no overviews of it are elsewhere */
} hr__tiff_image;

#define HR__TIFF_MAX_LEVELS 64

typedef struct hr__tiff_level {
    hr__tiff_image image;
    uint64_t width, height, npixels;
} hr__tiff_level;

/* Overviews that have been found, at most so many. */
typedef struct hr__tiff_level_list {
    hr__tiff_level items[HR__TIFF_MAX_LEVELS];
    size_t n;
} hr__tiff_level_list;

/* Add an IFD, if it is an overview; add those among the SubIFDs of one. */
hr_status hr__tiff_level_list_add(hr__tiff_level_list *all, hr__tiff_file *file,
                                  const hr__tiff_ifd *ifd, hr_error *err);
hr_status hr__tiff_level_list_add_subs(hr__tiff_level_list *all, hr__tiff_file *file,
                                       const hr__tiff_ifd *ifd, hr_error *err);
/* One of those that have been added, counted from 1, the largest. HR_ERR_NOT_FOUND. */
hr_status hr__tiff_level_list_find(hr__tiff_level_list *all, uint64_t number,
                                   hr__tiff_image *image, hr_error *err);
/* (height, width) of the overviews of an image of the main chain: SubIFDs, and those in
 * the beginning of the chain, of other images than the first those that follow it. The
 * first without any has those of the file beside. `shapes` has room for
 * HR__TIFF_MAX_LEVELS. */
hr_status hr__tiff_levels(const hr__tiff_image *image, uint64_t (*shapes)[2], size_t *n,
                          hr_error *err);
/* One of them, wherever in the chain. */
hr_status hr__tiff_level_find(const hr__tiff_image *base, uint64_t number,
                              hr__tiff_image *image, hr_error *err);

/* Number of the mask of the first image, or of an overview, that has this size, in the
 * beginning of the main chain; 0: it has none. */
hr_status hr__tiff_mask(hr__tiff_file *file, int64_t width, int64_t height,
                        uint64_t *number, hr_error *err);

/* fragment.c: what a fragment names */

typedef struct hr__tiff_choice {
    uint64_t ifd; /* of the main chain */
    bool is_stack;
    uint64_t level; /* of the image, or of each of the stack */
} hr__tiff_choice;

/* NULL: the first image. */
hr_status hr__tiff_choice_parse(const char *fragment, hr__tiff_choice *choice,
                                hr_error *err);
/* *base is the image that it is an overview of, else itself. */
hr_status hr__tiff_choice_find(const hr__tiff_choice *choice, hr__tiff_file *file,
                               hr__tiff_image *image, hr__tiff_image *base,
                               hr_error *err);

/* tags.c: values of entries */

typedef enum hr__tiff_tag {
    HR__TIFF_NEW_SUBFILE_TYPE = 254,
    HR__TIFF_SUBFILE_TYPE = 255,
    HR__TIFF_WIDTH = 256,
    HR__TIFF_LENGTH = 257,
    HR__TIFF_BITS = 258,
    HR__TIFF_COMPRESSION = 259,
    HR__TIFF_PHOTOMETRIC = 262,
    HR__TIFF_FILL_ORDER = 266,
    HR__TIFF_DOCUMENT_NAME = 269,
    HR__TIFF_DESCRIPTION = 270,
    HR__TIFF_STRIP_OFFSETS = 273,
    HR__TIFF_ORIENTATION = 274,
    HR__TIFF_SAMPLES = 277,
    HR__TIFF_ROWS_PER_STRIP = 278,
    HR__TIFF_STRIP_SIZES = 279,
    HR__TIFF_MIN_SAMPLE_VALUE = 280,
    HR__TIFF_MAX_SAMPLE_VALUE = 281,
    HR__TIFF_X_RESOLUTION = 282,
    HR__TIFF_Y_RESOLUTION = 283,
    HR__TIFF_PLANAR = 284,
    HR__TIFF_RESOLUTION_UNIT = 296,
    HR__TIFF_SOFTWARE = 305,
    HR__TIFF_DATE_TIME = 306,
    HR__TIFF_ARTIST = 315,
    HR__TIFF_HOST_COMPUTER = 316,
    HR__TIFF_PREDICTOR = 317,
    HR__TIFF_COLOR_MAP = 320,
    HR__TIFF_TILE_WIDTH = 322,
    HR__TIFF_TILE_LENGTH = 323,
    HR__TIFF_TILE_OFFSETS = 324,
    HR__TIFF_TILE_SIZES = 325,
    HR__TIFF_SUB_IFDS = 330,
    HR__TIFF_EXTRA_SAMPLES = 338,
    HR__TIFF_SAMPLE_FORMAT = 339,
    HR__TIFF_JPEG_TABLES = 347,
    HR__TIFF_SUBSAMPLING = 530,
    HR__TIFF_IMAGE_DEPTH = 32997,
    HR__TIFF_TILE_DEPTH = 32998,
    HR__TIFF_COPYRIGHT = 33432,
    HR__TIFF_PIXEL_SCALE = 33550,
    HR__TIFF_TIE_POINTS = 33922,
    HR__TIFF_TRANSFORMATION = 34264,
    HR__TIFF_GEO_KEYS = 34735,
    HR__TIFF_GEO_DOUBLES = 34736,
    HR__TIFF_GEO_TEXT = 34737,
    HR__TIFF_GDAL_METADATA = 42112,
    HR__TIFF_GDAL_NODATA = 42113,
    HR__TIFF_LERC_PARAMETERS = 50674,
    HR__TIFF_RPC = 50844,
    HR__TIFF_NDPI_FORMAT = 65420
} hr__tiff_tag;

/* The first entry of a tag, or NULL. */
const hr__tiff_entry *hr__tiff_find(const hr__tiff_ifd *ifd, hr__tiff_tag tag);
/* Bytes of a value of the type, 0 where there is no such type. */
uint32_t hr__tiff_type_nbytes(uint16_t type);
/* An integer type that offsets and counts may have: unsigned, or never negative. */
bool hr__tiff_type_is_unsigned(uint16_t type);
/* Values of an integer tag, in the arena; *n 0 and *values NULL where it is absent. At
 * most max_n of them are read. HR_ERR_METADATA for a tag of another type. */
hr_status hr__tiff_uints(hr__tiff_file *file, const hr__tiff_ifd *ifd, hr__tiff_tag tag,
                         uint64_t max_n, uint64_t **values, uint64_t *n, hr_error *err);
/* Its first value, or `absent`. */
hr_status hr__tiff_uint(hr__tiff_file *file, const hr__tiff_ifd *ifd, hr__tiff_tag tag,
                        uint64_t absent, uint64_t *value, hr_error *err);
/* Numbers of any type as doubles. */
hr_status hr__tiff_doubles(hr__tiff_file *file, const hr__tiff_ifd *ifd, hr__tiff_tag tag,
                           double **values, uint64_t *n, hr_error *err);
/* The bytes of a tag, NUL behind them; *text NULL where it is absent. */
hr_status hr__tiff_bytes(hr__tiff_file *file, const hr__tiff_ifd *ifd, hr__tiff_tag tag,
                         char **text, uint64_t *nbytes, hr_error *err);

/* layout.c: what an IFD says of its image */

typedef struct hr__tiff_layout {
    int64_t width, height, depth;
    int64_t nsamples;
    bool is_planar; /* samples lie in planes of their own */
    bool is_tiled;
    int64_t block_width, block_height, block_depth; /* of a tile or strip */
    int64_t across, down, deep;                     /* blocks of a plane */
    uint64_t nblocks;                               /* of all planes */
    uint32_t bits;
    uint32_t format; /* SampleFormat: 1 uint, 2 int, 3 float, 5 and 6 complex */
    uint32_t compression, predictor, photometric, fill_order;
    uint32_t subsampling[2];
    hr__tables tables;
} hr__tiff_layout;

hr_status hr__tiff_layout_read(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                               hr__tiff_layout *layout, hr_error *err);

/* stack.c: images that are one array */

#define HR__TIFF_MAX_PAGE_AXES 3

typedef struct hr__tiff_stack {
    int32_t naxes; /* 0: one image */
    int64_t shape[HR__TIFF_MAX_PAGE_AXES];
    const char *names[HR__TIFF_MAX_PAGE_AXES];
    const hr__tables *tables; /* of each page, or one for all */
    bool is_contiguous;       /* one for all: planes follow upon each other */
} hr__tiff_stack;

/* The pages of the main chain, `base` and what follows it: all but overviews and masks;
 * or a level of each, `image` that of the first. HR_ERR_UNSUPPORTED where they are not
 * alike.
 */
hr_status hr__tiff_stack_read(const hr__tiff_image *base, const hr__tiff_image *image,
                              const hr__tiff_layout *layout, uint64_t level,
                              hr__tiff_stack *stack, hr_error *err);

/* ome.c: axes of so many pages, those of the only image of OME-XML, where they are in
 * order; else false, with nothing set */
bool hr__tiff_ome_axes(const char *xml, int64_t npages, int64_t nsamples,
                       hr__tiff_stack *stack);

/* compression.c */

enum { HR__TIFF_JPEG = 7, HR__TIFF_LERC = 34887, HR__TIFF_LZMA = 34925 };
enum { HR__TIFF_YCBCR = 6 }; /* PhotometricInterpretation */

typedef enum hr__tiff_compression_kind {
    HR__TIFF_REFUSED, /* known, not decoded */
    HR__TIFF_PLAIN,   /* of bytes; the predictor's tag is ignored */
    HR__TIFF_BYTES,   /* of bytes, behind the predictor */
    HR__TIFF_IMAGE    /* knows rows and samples: no predictor, no byte or bit order */
} hr__tiff_compression_kind;

typedef struct hr__tiff_compression {
    const char *name;  /* as specifications and manuals have it */
    const char *codec; /* NULL: none is needed */
    uint32_t id;
    hr__tiff_compression_kind kind;
} hr__tiff_compression;

/* HR_ERR_UNSUPPORTED with number and name where it is not decoded. */
hr_status hr__tiff_compression_find(uint32_t id, const hr__tiff_compression **out,
                                    hr_error *err);
/* Append a codec to a list in the manner of Zarr v2; borrowed, for its configuration. */
json_object *hr__tiff_add_codec(json_object *list, const char *id);
/* Append what decodes it. */
hr_status hr__tiff_compression_add(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                                   const hr__tiff_layout *l,
                                   const hr__tiff_compression *c, json_object *codecs,
                                   hr_error *err);

/* chain.c: the codecs of a block */

/* dtype, order, shape, stored, chain and edge chain, from the layout. */
hr_status hr__tiff_chains(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                          const hr__tiff_layout *layout, const hr__tiff_stack *stack,
                          hr__tiff_node *node, hr_error *err);

/* attributes.c: tags for people, as JSON. An overview has place and metadata of its base.
 * `nodata` is the value that absent blocks have, or NULL where none is tagged. */
hr_status hr__tiff_attributes(const hr__tiff_image *image, const hr__tiff_image *base,
                              const hr__tiff_layout *layout, json_object *nodata,
                              hr__tiff_node *node, hr_error *err);
/* A text up to its NUL; bytes that are no UTF-8 are taken as Latin-1. */
json_object *hr__tiff_json_text(const char *bytes, uint64_t nbytes);
/* A number; JSON has no name for those that are not finite: "NaN", "Infinity". */
json_object *hr__tiff_json_number(double value);
/* Add a list of numbers, or nothing where there are none. */
void hr__tiff_json_list(json_object *object, const char *name, const double *values,
                        uint64_t n);

/* geo.c: where the image lies: "GeoTransform", "GeoKeys", "EPSG", "AREA_OR_POINT" and,
 * but for overviews, the tags that these are made of. A pixel stands for `pixel` columns
 * and rows of the IFD's own. */
hr_status hr__tiff_geo(hr__tiff_file *file, const hr__tiff_ifd *ifd,
                       const double pixel[2], bool is_overview, json_object *attributes,
                       hr_error *err);

/* xml.c: a part of a text, not changed */

typedef struct hr__tiff_span {
    const char *at;
    size_t n;
} hr__tiff_span;

/* The next element of that name: what stands in it behind the name. *text is behind that
 * then. */
bool hr__tiff_xml_next(const char **text, const char *name, hr__tiff_span *element);
/* The value of one of its attributes. */
bool hr__tiff_xml_attribute(hr__tiff_span element, const char *name,
                            hr__tiff_span *value);

/* gdal.c: the XML that GDAL keeps in a tag, as "GDAL_METADATA"; "scale_factor" and
 * "add_offset" where all samples share them, else "scales" and "offsets" */
hr_status hr__tiff_gdal(hr__tiff_file *file, const hr__tiff_ifd *ifd, int64_t nsamples,
                        json_object *attributes, hr_error *err);
/* "structural_metadata": what GDAL wrote behind the header of how the file is laid out
 * (LAYOUT=IFDS_BEFORE_DATA, …), unless a later writer did not keep to it. */
hr_status hr__tiff_structure(hr__tiff_file *file, json_object *attributes, hr_error *err);

#endif
