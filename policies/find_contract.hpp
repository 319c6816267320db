// From what a user types to a contract: `contract.toml`, `contract.json`, `policies.toml#checkout`, or the
// contract itself, `{"cap": "8s"}`.
#pragma once

#include <string>
#include <string_view>

#include "policies/contract.hpp"

namespace retrygate {

struct NamedContract {
  std::string name;  // as the user refers to it
  Contract contract;
  Value source;  // its table as written
};

// A reference that begins with '{' is the contract itself, as JSON. FILE#NAME is the table [contract.NAME]. FILE
// alone is its table [contract], its only [contract.NAME], or
// the whole file when it has no `contract`. A file that ends in .json is JSON. `where` is where `reference`
// was written.
Result<NamedContract> find_contract(std::string_view reference, Where where);

}  // namespace retrygate
