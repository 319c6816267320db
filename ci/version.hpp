// Which retrygate this is.
#pragma once

#include <string_view>

namespace retrygate::ci {

std::string_view version();  // "0.1.0"; what a stored baseline calls its engine
std::string_view commit();   // of the checkout it was configured in, abbreviated; "unknown" outside of one

}  // namespace retrygate::ci
