// How the message of an exception begins if it is not the candidate's own but
// says what is to become of it. Read by the worker, too.
#pragma once
#define JAXKERN_TORCH_WRONG "jaxkern wrong_answer: "
#define JAXKERN_TORCH_UNSUPPORTED "jaxkern unsupported: "
