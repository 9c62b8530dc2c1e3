# What is installed, and how others find it: pkg-config headrace, find_package(headrace).
# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)

# Programs find the library beside them, wherever the two are put.
file(RELATIVE_PATH HR_BIN_TO_LIB ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH HR_LIB_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
  ${CMAKE_INSTALL_PREFIX})

install(TARGETS headrace EXPORT headraceTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/headrace DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(HR_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/headrace)
install(EXPORT headraceTargets NAMESPACE headrace:: FILE headraceConfig.cmake
  DESTINATION ${HR_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/headraceConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/headraceConfigVersion.cmake DESTINATION ${HR_CMAKE_DIR})

configure_file(cmake/headrace.pc.in headrace.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/headrace.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
