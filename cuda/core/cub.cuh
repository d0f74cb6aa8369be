/* CUB without the start-up code of <iostream>, which one of its headers includes and which asks for libstdc++: this library is
 * linked to no C++ library (test/build/symbols.sh). */
#ifndef MACKO_CUB_CUH
#define MACKO_CUB_CUH

#include <ostream>
#define _GLIBCXX_IOSTREAM 1 /* as if it had been included */

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_run_length_encode.cuh>

#endif
