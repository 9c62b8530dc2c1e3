/* Tests that ThreadSanitizer cannot run. SPDX-License-Identifier: Apache-2.0 */
#ifndef HR_TESTS_TSAN_H
#define HR_TESTS_TSAN_H

/* Forks of threaded programs are beyond it. */
#if defined(__SANITIZE_THREAD__)
#define SKIP_UNDER_TSAN() skip()
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SKIP_UNDER_TSAN() skip()
#endif
#endif
#ifndef SKIP_UNDER_TSAN
#define SKIP_UNDER_TSAN() ((void)0)
#endif

#endif
