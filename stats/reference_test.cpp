// The procedures against other programs' values, see reference/README.md.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "stats/distributions.hpp"
#include "stats/multiplicity.hpp"
#include "stats/resample.hpp"
#include "stats/signed_rank.hpp"

namespace retrygate::stats {
namespace {

using nlohmann::json;

json cases(const std::string& name) {
  std::ifstream in(std::string(RETRYGATE_SOURCE_DIR) + "/stats/reference/" + name);
  return json::parse(in);
}

void close(const json& c, const std::string& field, double got) {
  const json& want = c["expected"][field];
  ASSERT_TRUE(want.is_number()) << c["id"] << " " << field;
  const json& all = c["tolerance"];
  const json& own = all.contains("fields") && all["fields"].contains(field) ? all["fields"][field] : all;
  const double allowed =
      std::max(own.value("abs", 0.0), own.value("rel", 0.0) * std::abs(want.get<double>()));
  EXPECT_LE(std::abs(got - want.get<double>()), allowed)
      << c["id"] << " " << field << " got " << got << " want " << want;
}

TEST(Reference, SignedRank) {
  int seen = 0;
  for (const json& c : cases("signed_rank.json")) {
    const auto x = c["x"].get<std::vector<double>>();
    const SignedRank got = signed_rank(x);
    if ((c["test"] == "signed_rank_exact") != (got.method == "exact"))
      continue;  // the other form of the same sizes
    ++seen;
    close(c, "statistic", got.v_plus);
    close(c, "p_value", got.p_two_sided);
    close(c, "p_less", got.p_less);
    close(c, "p_greater", got.p_greater);
  }
  EXPECT_GE(seen, 20);
}

TEST(Reference, PairedT) {
  int seen = 0;
  for (const json& c : cases("t_paired.json")) {
    if (c["expected"]["status"] != "ok") continue;
    ++seen;
    const Pairs pairs{c["y"].get<std::vector<double>>(), c["x"].get<std::vector<double>>(), false};
    const Studentized got = estimate(pairs);
    const double dof = static_cast<double>(pairs.baseline.size() - 1);
    const double t = (got.effect - c["params"]["mu"].get<double>()) / got.se;
    close(c, "estimate", got.effect);
    close(c, "std_error", got.se);
    close(c, "statistic", t);
    const std::string alternative = c["params"]["alternative"];
    close(c, "p_value",
          alternative == "greater" ? student_sf(t, dof)
          : alternative == "less"  ? student_sf(-t, dof)
                                   : 2 * student_sf(std::abs(t), dof));
  }
  EXPECT_GE(seen, 15);
}

TEST(Reference, Holm) {
  int seen = 0;
  for (const json& c : cases("holm.json")) {
    const auto got = holm(c["p"].get<std::vector<double>>());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], c["expected"]["holm"][i].get<double>(), 1e-12) << c["id"];
    ++seen;
  }
  EXPECT_GE(seen, 15);
}

}  // namespace
}  // namespace retrygate::stats
