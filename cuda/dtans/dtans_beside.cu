/* Format dtans on the GPU: a stream of gaps, values beside it. */
#include "dtans/dtans_launch.cuh"

void macko_dtans_run_beside(const dtans_launch &l, const macko_dtans_device *own)
{
  MACKO_DTANS_CODING(MACKO_DTANS_BESIDE, 2, MACKO_DTANS_EQUAL, 1)
  MACKO_DTANS_CODINGS(MACKO_DTANS_BESIDE)
}
