# Kernels: compiled to a fatbin and embedded, when nvcc is there; the same sources as host
# code for the simt device, with HR_SIMT. SPDX-License-Identifier: Apache-2.0
#
# Sets HR_KERNEL_SOURCES and HR_KERNEL_DEFINITIONS. No CUDA library is linked and CMake's
# own CUDA support is not used: all that is wanted of CUDA is nvcc -fatbin.
option(HR_SIMT "Build the simt device: the kernels on the CPU, for tests" ${HR_TESTS})
set(HR_KERNEL_SOURCES)
set(HR_KERNEL_DEFINITIONS)
set(HR_KERNEL_FILES scatter store filters lz4 snappy blosclz packbits deflate lzw zstd)
list(TRANSFORM HR_KERNEL_FILES PREPEND ${CMAKE_SOURCE_DIR}/cuda/
  OUTPUT_VARIABLE HR_KERNEL_DEVICE_SOURCES)
list(TRANSFORM HR_KERNEL_DEVICE_SOURCES APPEND .cu)
file(GLOB HR_KERNEL_HEADERS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cuda/*.h
  ${CMAKE_SOURCE_DIR}/cuda/*.cuh)

string(TOLOWER "${HR_CUDA}" HR_CUDA_CHOICE) # ON and OFF are what people write
if(HR_CUDA_CHOICE STREQUAL "off")
  set(HR_NVCC HR_NVCC-NOTFOUND)
else()
  find_program(HR_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
endif()

if(HR_NVCC)
  # Of the wanted architectures, those that this nvcc knows.
  execute_process(COMMAND ${HR_NVCC} --list-gpu-arch OUTPUT_VARIABLE known
    COMMAND_ERROR_IS_FATAL ANY)
  set(archs)
  foreach(arch ${HR_CUDA_ARCHS})
    if(known MATCHES "compute_${arch}\n")
      list(APPEND archs ${arch})
    else()
      message(WARNING "${HR_NVCC} has no sm_${arch}: left out of the kernels")
    endif()
  endforeach()
  if(NOT archs)
    message(FATAL_ERROR "${HR_NVCC} has none of HR_CUDA_ARCHS: ${HR_CUDA_ARCHS}")
  endif()
  list(SORT archs COMPARE NATURAL)
  list(GET archs -1 newest)
  set(targets -gencode=arch=compute_${newest},code=compute_${newest})
  foreach(arch ${archs})
    list(APPEND targets -gencode=arch=compute_${arch},code=sm_${arch})
  endforeach()

  # One symbol per file, in one assembler file.
  enable_language(ASM)
  set(assembly ${CMAKE_BINARY_DIR}/cuda/fatbins.S)
  set(text "    .section .rodata\n")
  set(fatbins)
  foreach(file ${HR_KERNEL_FILES})
    set(fatbin ${CMAKE_BINARY_DIR}/cuda/${file}.fatbin)
    add_custom_command(OUTPUT ${fatbin}
      COMMAND ${HR_NVCC} -fatbin -std=c++17 -O3 -fmad=false --threads 0 ${targets} -o ${fatbin}
        ${CMAKE_SOURCE_DIR}/cuda/${file}.cu
      DEPENDS ${CMAKE_SOURCE_DIR}/cuda/${file}.cu ${HR_KERNEL_HEADERS}
      COMMENT "nvcc ${file}.cu" VERBATIM)
    list(APPEND fatbins ${fatbin})
    string(APPEND text "    .globl hr__fatbin_${file}\n    .hidden hr__fatbin_${file}\n"
      "    .balign 64\nhr__fatbin_${file}:\n    .incbin \"${fatbin}\"\n")
  endforeach()
  string(APPEND text "    .section .note.GNU-stack,\"\",%progbits\n")
  file(CONFIGURE OUTPUT ${assembly} CONTENT "${text}" @ONLY)
  set_source_files_properties(${assembly} PROPERTIES OBJECT_DEPENDS "${fatbins}")
  list(APPEND HR_KERNEL_SOURCES ${assembly})

  list(JOIN archs "," archs_list)
  list(JOIN archs ", " archs_text)
  list(APPEND HR_KERNEL_DEFINITIONS HR_HAVE_KERNELS HR_KERNEL_ARCHS=${archs_list}
    HR_KERNEL_ARCHS_TEXT="${archs_text}")
  message(STATUS "Kernels: ${HR_NVCC} for ${archs_text}")
elseif(HR_CUDA_CHOICE STREQUAL "on")
  message(FATAL_ERROR "HR_CUDA is on but nvcc was not found")
elseif(HR_CUDA_CHOICE STREQUAL "off")
  message(STATUS "HR_CUDA is off: host codecs only, no GPU destinations")
else()
  message(STATUS "nvcc not found: host codecs only, no GPU destinations")
endif()

# C++ without the C++ library, so that what it is linked into stays plain C. The thread
# sanitizer does not see through stacks switched by hand.
set(HR_SIMT_OPTIONS -Wall -Wextra -Wshadow -fno-exceptions -fno-rtti
  -fno-threadsafe-statics -fno-sanitize=thread -ffp-contract=off)
if(HR_SIMT)
  list(APPEND HR_KERNEL_SOURCES ${CMAKE_SOURCE_DIR}/src/device/simt_run.cpp)
  list(APPEND HR_KERNEL_DEFINITIONS HR_WITH_SIMT)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/device/simt_run.cpp PROPERTIES
    COMPILE_OPTIONS "${HR_SIMT_OPTIONS}"
    OBJECT_DEPENDS "${HR_KERNEL_DEVICE_SOURCES};${HR_KERNEL_HEADERS}")
endif()
