/* Format dtans on the GPU: streams of gaps and of values, or one of both in turn as in the paper. */
#include "dtans/dtans_launch.cuh"

void macko_dtans_run_split(const dtans_launch &l, const macko_dtans_device *own)
{
  if (!l.run_any<MACKO_DTANS_SPLIT>(own)) l.run_if<MACKO_DTANS_PAPER, 2, MACKO_DTANS_ANY, 0>(own);
}
