/* Format dtans on the GPU: a stream of gaps, values beside it. */
#include "dtans/dtans_launch.cuh"

void macko_dtans_run_beside(const dtans_launch &l, const macko_dtans_device *own)
{
  if (!l.run_if<MACKO_DTANS_BESIDE, 2, MACKO_DTANS_EQUAL, 1>(own)) l.run_any<MACKO_DTANS_BESIDE>(own);
}
