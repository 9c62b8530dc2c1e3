/* Checksums by hand. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_CODEC_CHECKSUM_H
#define HR_CODEC_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* With the processor's own instruction where it has one; and without. */
uint32_t hr__crc32c(const uint8_t *data, size_t nbytes);
uint32_t hr__crc32c_portable(const uint8_t *data, size_t nbytes);

/* Fletcher's checksum as HDF5 computes it, over big-endian 16-bit words. */
uint32_t hr__fletcher32(const uint8_t *data, size_t nbytes);

/* Jenkins' lookup3 ("hashlittle") over the prefix followed by the data. */
uint32_t hr__jenkins_lookup3(uint32_t initval, const uint8_t *prefix, size_t nprefix,
                             const uint8_t *data, size_t nbytes);

#endif
