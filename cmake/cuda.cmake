# Kernels: compiled to a fatbin and embedded, when nvcc is there.
# Sets HR_KERNEL_SOURCES and HR_KERNEL_DEFINITIONS. SPDX-License-Identifier: Apache-2.0
set(HR_KERNEL_SOURCES)
set(HR_KERNEL_DEFINITIONS)
