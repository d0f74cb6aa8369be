/* Format dtans on the GPU: one stream of pairs of gap and value. */
#include "dtans/dtans_launch.cuh"

void macko_dtans_run_joint(const dtans_launch &l, const macko_dtans_device *own)
{
  if (!l.run_if<MACKO_DTANS_JOINT, 2, MACKO_DTANS_EQUAL, 1>(own)) l.run_any<MACKO_DTANS_JOINT>(own);
}
