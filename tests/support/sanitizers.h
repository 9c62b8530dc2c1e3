/* Tests that sanitizers cannot run, or not in full. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_SUPPORT_SANITIZERS_H
#define HR_TESTS_SUPPORT_SANITIZERS_H

#ifdef __has_feature
#define HR_TEST_FEATURE(name) __has_feature(name)
#else
#define HR_TEST_FEATURE(name) 0
#endif

/* Forks of threaded programs are beyond ThreadSanitizer. */
#if defined(__SANITIZE_THREAD__) || HR_TEST_FEATURE(thread_sanitizer)
#define HR_TEST_HAS_TSAN 1
#define SKIP_UNDER_TSAN() skip()
#else
#define HR_TEST_HAS_TSAN 0
#define SKIP_UNDER_TSAN() ((void)0)
#endif

/* AddressSanitizer's allocator does not survive the fork of a process whose threads
 * allocate meanwhile, as those that are just starting do. */
#if defined(__SANITIZE_ADDRESS__) || HR_TEST_FEATURE(address_sanitizer)
#define HR_TEST_HAS_ASAN 1
#define SKIP_UNDER_ASAN() skip()
#else
#define HR_TEST_HAS_ASAN 0
#define SKIP_UNDER_ASAN() ((void)0)
#endif

/* Everything takes many times as long. */
#define HR_TEST_IS_SLOW (HR_TEST_HAS_ASAN || HR_TEST_HAS_TSAN)

#endif
