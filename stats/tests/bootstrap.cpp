#include "stats/bootstrap.hpp"

#include <algorithm>
#include <charconv>

#include "stats/case.hpp"
#include "stats/distributions.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

using Kind = Functional::Kind;

// `statistic`: mean, median, variance, trimmed_mean_20, p95_type7 ...; of two samples also "mean(x) -
// mean(y)".
Functional functional_of(Reader& params) {
  const std::string word = params.text("statistic").value_or("mean");
  const std::string_view name(word);
  const auto digits = [&](std::size_t from, double& into) {
    const auto [end, fault] = std::from_chars(name.data() + from, name.data() + name.size(), into);
    return fault == std::errc{}
               ? std::string_view(end, static_cast<std::size_t>(name.data() + name.size() - end))
               : std::string_view("?");
  };
  double percent = 0;
  if (name == "mean" || name == "mean(x) - mean(y)") return {Kind::mean};
  if (name == "median" || name == "median(x) - median(y)") return {Kind::median};
  if (name == "variance") return {Kind::variance};
  if (name.starts_with("trimmed_mean_") && digits(13, percent).empty() && percent >= 0 && percent < 50)
    return {Kind::trimmed_mean, percent / 100};
  if (name.starts_with("p") && percent >= 0) {
    const std::string_view rest = digits(1, percent);
    for (const auto type : {QuantileType::one, QuantileType::six, QuantileType::seven, QuantileType::eight}) {
      if (percent >= 0 && percent <= 100 &&
          (rest == std::string("_type") + std::to_string(static_cast<int>(type)) ||
           (rest.empty() && type == QuantileType::seven)))
        return {Kind::quantile, percent / 100, type};
    }
  }
  params.fail("statistic", "'statistic' is not known",
              "known: mean, median, variance, trimmed_mean_20, p95_type7 (types 1, 6, 7, 8)");
  return {};
}

Resampling resampling_of(Reader& params) {
  const Draws draws = draws_of(params);
  const std::int64_t otherwise = integer_or(params, "accept_B", 10'000, 1, 100'000'000);
  return {params.has("draws") ? draws.count : static_cast<std::uint64_t>(otherwise), draws.seed,
          draws.threads};
}

// A sample with enough values for the statistic and its jack-knife.
std::vector<double> sample_for(Reader& c, std::string_view key, const Functional& functional) {
  return sample(c, key, functional.least() + 1);
}

Member resamples(const ResampleLaw& law) {
  return law.is_all() ? member("resamples", std::string("all")) : count("resamples", law.size());
}

Result<Value> run_acceleration(Reader& c) {
  Reader p = params(c);
  const Functional functional = functional_of(p);
  const auto x = sample_for(c, "x", functional);
  if (wrong(c)) return failure_of(c);
  const Jackknife j = jackknife(x, functional);
  return to_value(Table{member(j.status), member("estimate", j.estimate),
                        member("acceleration", j.acceleration), member("jackknife_bias", j.bias),
                        member("jackknife_se", j.se), member("jackknife_values", j.values)});
}

Result<Value> run_acceleration_two(Reader& c) {
  Reader p = params(c);
  const Estimand estimand{functional_of(p)};
  auto x = sample_for(c, "x", estimand.functional), y = sample_for(c, "y", estimand.functional);
  if (wrong(c)) return failure_of(c);
  const double a = acceleration(x, y, estimand);
  const double estimate = evaluate(estimand.functional, x) - evaluate(estimand.functional, y);
  return to_value(Table{member(Status::ok), member("estimate", estimate), member("acceleration", a)});
}

Result<Value> run_levels(Reader& c) {
  Reader p = params(c);
  const double z0 = number_or(p, "z0", 0), a = number_or(p, "acceleration", 0), at = level(p);
  if (wrong(c)) return failure_of(c);
  const BcaLevels levels = bca_levels(z0, a, at);
  return to_value(
      Table{member(levels.status), member("alpha_low", levels.low), member("alpha_high", levels.high)});
}

Result<Value> run_replicates(Reader& c) {
  Reader p = params(c);
  const Functional functional = functional_of(p);
  auto x = sample_for(c, "x", functional);
  const auto replicates = sample(c, "replicates");
  const double at = level(p);
  if (wrong(c)) return failure_of(c);
  const double a = jackknife(x, functional).acceleration;
  const double estimate = number_or(p, "estimate", evaluate(functional, x));
  if (wrong(c)) return failure_of(c);
  const auto size = static_cast<double>(replicates.size());
  const ResampleLaw law = ResampleLaw::drawn(replicates);
  const BootstrapIntervals b = intervals(law, estimate, a, at);
  const double less = law.less(estimate), equal = law.equal(estimate);
  std::optional<double> strict;
  if (less > 0 && less < 1) strict = normal_quantile(less);
  return to_value(Table{
      member(b.status), count("less", static_cast<std::size_t>(less * size + 0.5)),
      count("equal", static_cast<std::size_t>(equal * size + 0.5)), member("acceleration", a),
      member("percentile_low", b.percentile.low), member("percentile_high", b.percentile.high),
      member("z0", b.z0), member("z0_strict", strict), member("alpha_low", b.levels.low),
      member("alpha_high", b.levels.high), member("bca_low", b.bca_low), member("bca_high", b.bca_high)});
}

Table table_of(const ResampleLaw& law, const BootstrapIntervals& b) {
  const std::vector<double> probs{0.005, 0.025, 0.05, 0.5, 0.95, 0.975, 0.995};
  std::vector<double> quantiles;
  for (const double p : probs) quantiles.push_back(law.quantile(p));
  return {member(b.status),
          resamples(law),
          member("estimate", b.estimate),
          member("bootstrap_mean", b.mean),
          member("bootstrap_se", b.se),
          member("probs", probs),
          member("quantiles", quantiles),
          member("prob_less", law.less(b.estimate)),
          member("prob_equal", law.equal(b.estimate)),
          member("acceleration", b.acceleration),
          member("z0", b.z0),
          member("alpha_low", b.levels.low),
          member("bca_low", b.bca_low),
          member("alpha_high", b.levels.high),
          member("bca_high", b.bca_high)};
}

// Every resample where that can be counted, else random ones.
Table ideal(const std::vector<double>& x, const Functional& functional, double at,
            const Resampling& resampling) {
  const Jackknife j = jackknife(x, functional);
  auto law = ideal_law(x, functional);
  if (!law) law = drawn_law(x, functional, resampling);
  return table_of(*law, intervals(*law, j.estimate, j.acceleration, at));
}

Result<Value> run_ideal(Reader& c) {
  Reader p = params(c);
  const Functional functional = functional_of(p);
  const auto x = sample_for(c, "x", functional);
  const double at = level(p);
  const Resampling resampling = resampling_of(p);
  if (wrong(c)) return failure_of(c);
  return to_value(ideal(x, functional, at, resampling));
}

Result<Value> run_ideal_quantile(Reader& c) {
  Reader p = params(c);
  const auto x = sample(c, "x", 2);
  const double probability = number_or(p, "p", 0.5, 0, 1), at = level(p);
  const auto type = integer_or(p, "quantile_type", 1, 1, 8);
  if (type != 1 && type < 6) p.fail("quantile_type", "'quantile_type' must be 1, 6, 7 or 8");
  const Resampling resampling = resampling_of(p);
  if (wrong(c)) return failure_of(c);
  const Functional functional{Kind::quantile, probability, static_cast<QuantileType>(type)};
  Table all = ideal(x, functional, at, resampling);
  if (type == 1) all.push_back(count("rank", inverse_rank(probability, x.size())));
  return to_value(std::move(all));
}

Result<Value> run_bootstrap(Reader& c) {
  Reader p = params(c);
  const Functional functional = functional_of(p);
  const auto kind = p.word("kind", {"one", "paired", "diff", "ratio"}).value_or(c.has("y") ? 2 : 0);
  auto x = sample_for(c, "x", functional);
  std::vector<double> y;
  if (kind > 0) y = sample_for(c, "y", functional);
  const double at = level(p);
  const Resampling resampling = resampling_of(p);
  if (kind == 1 && x.size() != y.size()) c.fail("y", "pairs need as many values in 'y' as in 'x'");
  const auto above = std::count_if(y.begin(), y.end(), [](double v) { return v > 0; });
  const auto below = std::count_if(y.begin(), y.end(), [](double v) { return v < 0; });
  if (kind == 3 && std::max(above, below) < std::ssize(y))
    c.fail("y", "a ratio needs values in 'y' that have one sign and are not 0");
  if (kind == 3 && functional.kind == Kind::variance)
    p.fail("kind", "a ratio of variances is not defined: resamples of equal values have none",
           "take kind \"diff\", or the logarithms of the values");
  if (wrong(c)) return failure_of(c);
  if (kind == 1) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
  }
  BootstrapIntervals b;
  std::optional<Ends> studentized;
  std::uint64_t drawn = resampling.count;
  if (kind < 2) {
    const Jackknife j = jackknife(x, functional);
    b = intervals(drawn_law(x, functional, resampling), j.estimate, j.acceleration, at);
    if (functional.kind == Kind::mean) studentized = studentized_mean(x, at, resampling);
  } else {
    const Estimand estimand{functional, kind == 2 ? Contrast::difference : Contrast::ratio};
    const double a = acceleration(x, y, estimand);
    const ResampleLaw law = drawn_law(x, y, estimand, resampling);
    const double of_x = evaluate(functional, x), of_y = evaluate(functional, y);
    b = intervals(law, kind == 2 ? of_x - of_y : of_x / of_y, a, at);
  }
  Table all{member(b.status),
            count("resamples", drawn),
            member("estimate", b.estimate),
            member("bootstrap_se", b.se),
            member("acceleration", b.acceleration),
            member("percentile_low", b.percentile.low),
            member("percentile_high", b.percentile.high),
            member("z0", b.z0),
            member("bca_low", b.bca_low),
            member("bca_high", b.bca_high)};
  if (studentized) {
    all.push_back(member("studentized_low", studentized->low));
    all.push_back(member("studentized_high", studentized->high));
  }
  return to_value(std::move(all));
}

}  // namespace

void add_bootstrap(Shelf<Procedure>& shelf) {
  constexpr std::string_view source = "Efron 1987; Efron and Tibshirani 1993";
  constexpr std::string_view independent = "independent values; a smooth statistic, about 20 values or more";
  shelf.add({"bootstrap_million", "random resamples: percentile, BCa and bootstrap-t intervals", independent,
             source, &run_bootstrap});
  shelf.add({"ideal_bootstrap", "all resamples, where they can be counted: law, percentile, BCa", independent,
             source, &run_ideal});
  shelf.add({"ideal_bootstrap_quantile", "all resamples of an order statistic, by the binomial law",
             independent, source, &run_ideal_quantile});
  shelf.add({"bca_acceleration", "jack-knife: bias, standard error, acceleration", independent, source,
             &run_acceleration});
  shelf.add({"bca_acceleration_two_sample", "acceleration of a difference of two samples", independent,
             source, &run_acceleration_two});
  shelf.add({"bca_levels", "the levels at which BCa reads the replicates", "-", source, &run_levels});
  shelf.add({"bca_from_replicates", "percentile and BCa interval from replicates made elsewhere", independent,
             source, &run_replicates});
}

}  // namespace retrygate::stats
