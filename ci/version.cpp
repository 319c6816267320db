#include "ci/version.hpp"

namespace retrygate::ci {

std::string_view version() { return RETRYGATE_VERSION; }
std::string_view commit() { return RETRYGATE_COMMIT; }

}  // namespace retrygate::ci
