/* What a machine without a CUDA driver is told. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "device/device.h"

static void a_missing_driver_is_named(void **state) {
    (void)state;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver != NULL) {
        (void)dlclose(driver);
        print_message("skipped: a missing driver (this machine has one)\n");
        skip();
    }
    const hr__device_ops *ops = hr__device_find(HR_DEVICE_CUDA);
    assert_non_null(ops);
    for (int i = 0; i < 2; i++) { /* the second time is no different */
        hr_error err = HR_ERROR_INIT;
        hr_device_info info = HR_DEVICE_INFO_INIT;
        hr__device *d = NULL;
        assert_int_equal(ops->describe(0, &info, &err), HR_ERR_DEVICE);
        assert_string_equal(err.message, "no CUDA driver: libcuda.so.1 not found");
        assert_int_equal(info.name[0], '\0');
        err = HR_ERROR_INIT;
        assert_int_equal(ops->open(0, &hr__malloc_allocator, &d, &err), HR_ERR_DEVICE);
        assert_string_equal(err.message, "no CUDA driver: libcuda.so.1 not found");
        assert_null(d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_driver_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
