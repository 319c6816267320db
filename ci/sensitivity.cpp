#include "ci/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ci/layout.hpp"
#include "ci/samples.hpp"
#include "policies/base/json.hpp"
#include "stats/sample.hpp"

namespace retrygate::ci {
namespace {

constexpr double level = 0.95;
constexpr std::size_t runs_usual = 16;

// The reference with these settings in place of its own: "full-jitter:base=1s" and base=50ms.
std::string with_settings(const std::string& reference, const std::vector<std::string>& settings) {
  const std::size_t hash = reference.find('#');
  const std::size_t colon = reference.find(':', hash == std::string::npos ? 0 : hash);
  std::vector<std::string> kept = settings;
  const std::string own = colon == std::string::npos ? "" : reference.substr(colon + 1);
  for (std::size_t begin = 0; begin < own.size();) {
    const std::size_t end = std::min(own.find(',', begin), own.size());
    const std::string item = own.substr(begin, end - begin), key = item.substr(0, item.find('=') + 1);
    const bool replaced = std::any_of(settings.begin(), settings.end(),
                                      [&](const std::string& setting) { return setting.starts_with(key); });
    if (!replaced) kept.push_back(item);
    begin = end + 1;
  }
  return fmt::format("{}:{}", reference.substr(0, colon), fmt::join(kept, ","));
}

// The policies of the runs, in the order of the design; their errors with what to do about them.
Result<std::vector<NamedPolicy>> variants(const SensitivityRequest& request,
                                          const std::vector<Setting>& settings,
                                          const stats::TwoLevelDesign& design) {
  std::vector<NamedPolicy> policies;
  Errors errors;
  for (const stats::FactorSet run : design.runs) {
    std::vector<std::string> chosen;
    for (std::size_t i = 0; i < settings.size(); ++i) {
      const bool high = (run >> i & 1) != 0;
      chosen.push_back(fmt::format("{}={}", settings[i].key, high ? settings[i].high : settings[i].low));
    }
    const std::string reference = with_settings(request.policy, chosen);
    auto made = find_policy(reference, request.where);
    if (!made) {
      for (Error& error : made.error()) {
        error.message = fmt::format("{}: {}", reference, error.message);
        if (error.hint.empty()) error.hint = "choose other levels with --vary key=low..high";
      }
    }
    if (auto policy = keep(std::move(made), errors)) policies.push_back(std::move(*policy));
    if (!errors.empty()) return tl::unexpected(std::move(errors));
  }
  return policies;
}

Result<std::vector<Setting>> settings_of(const SensitivityRequest& request, const NamedPolicy& nominal) {
  Errors errors;
  std::vector<Setting> settings;
  for (const std::string& text : request.vary) {
    auto setting = keep(parse_setting(text), errors);
    if (!setting) continue;
    for (const Setting& earlier : settings) {
      if (earlier.key == setting->key)
        errors.push_back({{"--vary", 1, 1}, fmt::format("'{}' is given twice", setting->key), ""});
    }
    settings.push_back(std::move(*setting));
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  if (request.vary.empty()) settings = usual_settings(request, nominal);
  if (settings.empty())
    return failure(request.where, fmt::format("{} states no setting that could be varied", request.policy),
                   "name what to vary: --vary key=low..high");
  return settings;
}

Result<SensitivityMetric> analyse(const SensitivityReport& report, const Metric& metric,
                                  const SampleTable& table, std::size_t place, const Scenario& scenario) {
  std::vector<std::vector<double>> responses;
  for (const Cell& cell : table.cells) {
    auto values = comparable(cell.samples[place], metric, scenario, {"--metric", 1, 1});
    if (!values) return tl::unexpected(values.error());
    responses.push_back(std::move(*values));
  }
  const std::vector<double> nominal = responses.front();  // the policy as it is comes first
  responses.erase(responses.begin());
  return SensitivityMetric{metric.id, metric.unit, stats::mean(nominal),
                           stats::analyse(report.design, responses, level),
                           stats::curvature(responses, nominal, level)};
}

std::string name_of(stats::FactorSet factors, const std::vector<Setting>& settings) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if ((factors >> i & 1) != 0) names.push_back(settings[i].key);
  }
  return fmt::format("{}", fmt::join(names, " x "));
}

std::string row_text(const std::string& name, const stats::Effect& effect) {
  const std::string interval =
      effect.interval ? fmt::format("{:+.5g} .. {:+.5g}", effect.interval->low, effect.interval->high) : "-";
  const std::string p = !effect.p_adjusted          ? "-"
                        : *effect.p_adjusted < 1e-4 ? "< 0.0001"
                                                    : fmt::format("{:.4f}", *effect.p_adjusted);
  return fmt::format("  {:<28} {:>+11.5g}   {:<26} {:>8}\n", name, effect.estimate, interval, p);
}

// Which settings matter, most first, and whether they do so alone.
std::string matters(const SensitivityReport& report, const SensitivityMetric& m) {
  const auto seen = [](const stats::Effect& e) {
    return e.p_adjusted ? *e.p_adjusted < 1 - level : e.estimate != 0;
  };
  std::vector<stats::Effect> effects = m.experiment.effects;
  std::stable_sort(effects.begin(), effects.end(), [](const stats::Effect& a, const stats::Effect& b) {
    return std::abs(a.estimate) > std::abs(b.estimate);
  });
  const std::string unit = m.unit == "1" || m.unit == "0/1" ? "" : " " + m.unit;
  std::vector<std::string> settings, silent;
  std::string together;
  for (const stats::Effect& e : effects) {
    const std::string name = name_of(e.factors, report.settings);
    const bool alone = (e.factors & (e.factors - 1)) == 0;
    if (!alone) {
      if (seen(e) && together.empty()) together = name;
      continue;
    }
    const auto at = std::find_if(report.settings.begin(), report.settings.end(),
                                 [&](const Setting& s) { return s.key == name; });
    if (seen(e))
      settings.push_back(
          fmt::format("{} ({:+.3g}{} from {} to {})", name, e.estimate, unit, at->low, at->high));
    else
      silent.push_back(name);
  }
  std::string text = settings.empty() ? fmt::format("In words: no setting is seen to matter for {}.", m.id)
                                      : fmt::format("In words: what matters for {}, most first: {}.", m.id,
                                                    fmt::join(settings, ", "));
  if (!settings.empty() && !silent.empty())
    text += fmt::format(" Not seen to matter: {}.", fmt::join(silent, ", "));
  if (!together.empty()) text += fmt::format(" What one does depends on another, most of all {}.", together);
  return wrapped(text, 2);
}

Value effect_value(const std::string& name, const stats::Effect& effect,
                   const std::vector<Setting>& settings) {
  Array aliases;
  for (const stats::FactorSet alias : effect.aliases) aliases.push_back(to_value(name_of(alias, settings)));
  Value interval = to_value(std::nullopt);
  if (effect.interval) interval = to_value(std::vector<double>{effect.interval->low, effect.interval->high});
  return to_value(Table{member("effect", name), member("aliases", std::move(aliases)),
                        member("estimate", effect.estimate), member("std_error", effect.std_error),
                        Member{"interval", {}, std::move(interval)}, member("p", effect.p),
                        member("p_adjusted", effect.p_adjusted)});
}

}  // namespace

Result<Setting> parse_setting(std::string_view text) {
  const std::size_t equals = text.find('='), dots = text.find("..", equals == text.npos ? 0 : equals);
  if (equals == text.npos || equals == 0 || dots == text.npos || dots == equals + 1 ||
      dots + 2 == text.size())
    return failure({"--vary", 1, 1}, fmt::format("'{}' is not of the form key=low..high", text),
                   "write for example base=50ms..200ms");
  return Setting{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1, dots - equals - 1)),
                 "", std::string(text.substr(dots + 2))};
}

std::vector<Setting> usual_settings(const SensitivityRequest& request, const NamedPolicy& nominal) {
  const Contract contract = nominal.policy.contract();
  std::vector<Setting> wanted;
  const auto halved_and_doubled = [&](const std::string& key, const std::optional<Duration>& length) {
    if (length && *length > Duration{})
      wanted.push_back({key, to_string(length->scaled(0.5)), to_string(*length), to_string(*length * 2)});
  };
  halved_and_doubled("base", contract.base);
  if (contract.factor && *contract.factor > 1) {
    const double excess = *contract.factor - 1;
    wanted.push_back({"factor", fmt::format("{}", 1 + excess / 2), fmt::format("{}", *contract.factor),
                      fmt::format("{}", 1 + excess * 2)});
  }
  halved_and_doubled("cap", contract.cap);
  if (contract.max_attempts && *contract.max_attempts > 2) {
    const std::int64_t n = *contract.max_attempts;
    wanted.push_back({"max_attempts", fmt::format("{}", std::max<std::int64_t>(2, n / 2)),
                      fmt::format("{}", n), fmt::format("{}", 2 * n)});
  }
  // Some policies state what they do not let anybody set.
  std::erase_if(wanted, [&](const Setting& s) {
    return !find_policy(with_settings(request.policy, {s.key + "=" + s.nominal}), request.where);
  });
  return wanted;
}

Result<SensitivityReport> sensitivity(const SensitivityRequest& request) {
  Errors errors;
  const auto nominal = keep(find_policy(request.policy, request.where), errors);
  if (nominal && nominal->program)
    errors.push_back({request.where, "the settings of a program cannot be varied from here",
                      "name a built-in, a preset or FILE.toml#name"});
  const auto scenario =
      keep(find_scenario(request.scenario, {"--scenario", 1, 1}, request.overrides), errors);
  std::vector<Metric> metrics;
  for (const std::string& id : request.metrics) {
    if (auto metric = keep(find_metric(id, {"--metric", 1, 1}), errors))
      metrics.push_back(std::move(*metric));
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  const auto settings = settings_of(request, *nominal);
  if (!settings) return tl::unexpected(settings.error());
  SensitivityReport report{nominal->name, scenario->id, request.seeds.size(), *settings, {}, {}};
  const std::size_t all = std::size_t{1} << std::min<std::size_t>(settings->size(), 16);
  auto design = stats::two_level_design(settings->size(), request.runs.value_or(std::min(all, runs_usual)));
  if (!design) {
    for (Error& error : design.error()) error.where = {request.runs ? "--runs" : "--vary", 1, 1};
    return tl::unexpected(design.error());
  }
  report.design = std::move(*design);
  const auto policies = variants(request, *settings, report.design);
  if (!policies) return tl::unexpected(policies.error());

  std::vector<NamedPolicy> simulated{*nominal};
  simulated.insert(simulated.end(), policies->begin(), policies->end());
  const auto table = sweep(simulated, {*scenario}, request.seeds, request.metrics, request.threads);
  if (!table) return tl::unexpected(table.error());
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    auto analysed = analyse(report, metrics[m], *table, m, *scenario);
    if (!analysed) return tl::unexpected(analysed.error());
    report.metrics.push_back(std::move(*analysed));
  }
  return report;
}

std::string sensitivity_text(const SensitivityReport& report) {
  const std::size_t full = std::size_t{1} << report.settings.size();
  std::string text =
      fmt::format("sensitivity of {} on {}, {} seeds\n", report.policy, report.scenario, report.seeds);
  text += fmt::format("  {:<28} {:>11} {:>11} {:>11}\n", "setting", "low", "nominal", "high");
  for (const Setting& s : report.settings)
    text += fmt::format("  {:<28} {:>11} {:>11} {:>11}\n", s.key, s.low, s.nominal.empty() ? "-" : s.nominal,
                        s.high);
  text += report.design.runs.size() == full
              ? fmt::format("  all {} combinations\n", full)
              : fmt::format(
                    "  {} of {} combinations, resolution {}: effects that these runs cannot tell apart "
                    "stand in one row\n",
                    report.design.runs.size(), full, *report.design.resolution);
  for (const SensitivityMetric& m : report.metrics) {
    text += fmt::format("\n{}: {:.5g} as it is, {:.5g} over the runs\n", m.id, m.nominal, m.experiment.mean);
    text += fmt::format("  {:<28} {:>11}   {:<26} {:>8}\n", "from low to high", "change", "95 % interval",
                        "Holm p");
    std::vector<stats::Effect> effects = m.experiment.effects;
    std::stable_sort(effects.begin(), effects.end(), [](const stats::Effect& a, const stats::Effect& b) {
      return std::abs(a.estimate) > std::abs(b.estimate);
    });
    for (const stats::Effect& effect : effects) {
      std::string name = name_of(effect.factors, report.settings);
      for (const stats::FactorSet alias : effect.aliases) name += " = " + name_of(alias, report.settings);
      text += row_text(name, effect);
    }
    text += row_text("mean of runs minus as it is", m.curvature);
    text += matters(report, m);
  }
  text += "\nThe last row of each is what a straight line between low and high leaves out.\n";
  return text;
}

std::string sensitivity_json(const SensitivityReport& report) {
  Array settings, runs, metrics;
  for (const Setting& s : report.settings)
    settings.push_back(to_value(Table{member("key", s.key), member("low", s.low), member("high", s.high)}));
  for (const stats::FactorSet run : report.design.runs) {
    Array high;
    for (std::size_t i = 0; i < report.settings.size(); ++i) high.push_back(to_value((run >> i & 1) != 0));
    runs.push_back(to_value(std::move(high)));
  }
  for (const SensitivityMetric& m : report.metrics) {
    Array effects;
    for (const stats::Effect& effect : m.experiment.effects)
      effects.push_back(effect_value(name_of(effect.factors, report.settings), effect, report.settings));
    metrics.push_back(
        to_value(Table{member("metric", m.id), member("unit", m.unit), member("nominal", m.nominal),
                       member("mean", m.experiment.mean), member("effects", std::move(effects)),
                       Member{"curvature", {}, effect_value("curvature", m.curvature, report.settings)}}));
  }
  const auto resolution = report.design.resolution;
  return write_json(to_value(Table{
             member("schema", std::string("retrygate.sensitivity/1")), member("policy", report.policy),
             member("scenario", report.scenario), member("seeds", static_cast<std::int64_t>(report.seeds)),
             member("settings", std::move(settings)), member("runs_high", std::move(runs)),
             Member{"resolution",
                    {},
                    resolution ? to_value(static_cast<std::int64_t>(*resolution)) : to_value(std::nullopt)},
             member("metrics", std::move(metrics))})) +
         "\n";
}

}  // namespace retrygate::ci
