// Services: programs that stay up while trials run. A service is checked as a workload whose command has `ready`. What
// it declares comes into the workloads that name it, so that factors, arguments, rules and plans find it there and need
// no second place to look.

#include <algorithm>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"
#include "runtime/base/entry.h"
#include "runtime/base/text.h"
#include "runtime/plan/command.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(MetricOfService,
                "a service yields no '{0}', only the time until it is ready, its processor time and its memory");

using Op = Formula::Op;

/// For each parameter of a service its index in the workload that names it.
std::vector<int> indicesIn(const Workload& workload, const Workload& service) {
  std::vector<int> indices;
  for (const Parameter& parameter : service.parameters) indices.push_back(workload.findParameter(parameter.name));
  return indices;
}

/// The last part of a service's name, by which arguments name it.
std::string shortName(const Workload& service) { return service.name.substr(service.name.rfind('.') + 1); }

/// The service of a name; null after a report.
const Workload* resolve(Context& context, ModuleScope& scope, const ast::QualifiedName& name) {
  const ast::Identifier& last = name.parts.back();
  const ModuleScope* where = context.scopeOf(name, scope);
  if (!where) return nullptr;
  const auto* found = entryOf(where->services, last.name);
  if (!found || name.parts.size() > 2) {
    unknownName(context.emitter, "service", last, namesOf(where->services));
    return nullptr;
  }
  context.note(last.range, (*found)->range);
  return *found;
}

/// The text of the only argument of `http("/health")` and the like; nothing after a report.
std::optional<std::string> textOf(Context& context, const ast::CallExpr* call, source::Range range,
                                  std::string_view word, std::string_view wanted) {
  const bool one = call && call->arguments.size() == 1 && !call->arguments[0].name;
  const auto* text = one ? call->arguments[0].value->as<ast::StringLiteral>() : nullptr;
  if (text && !text->value.empty()) return text->value;
  return context.emitter.emit(range, WrongArguments, word, wanted, countedArguments(call ? call->arguments.size() : 0));
}

}  // namespace

void findServices(WorkloadScope& of) {
  Once names;
  for (const ast::NamedUse& use : of.declaration.services) {
    const Workload* service = resolve(of.context, of.scope, use.name);
    if (service && names.add(of.emitter, "service", use.name.parts.back())) of.workload.services.push_back(service);
  }
  of.workload.lacks_service = std::ranges::any_of(of.declaration.services, [&](const ast::NamedUse& use) {
    return !findService(of.workload, use.name.parts.back().name);
  });
}

const Workload* findService(const Workload& workload, std::string_view name) {
  const auto found = std::ranges::find(workload.services, name, [](const Workload* one) { return shortName(*one); });
  return found == workload.services.end() ? nullptr : *found;
}

void bringParameters(WorkloadScope& of) {
  Workload& workload = of.workload;
  for (const Workload* service : workload.services)
    for (const Parameter& parameter : service->parameters) {
      const int known = workload.findParameter(parameter.name);
      if (known < 0)
        workload.parameters.push_back(parameter);
      else if (sameParameter(of.emitter, parameter.range, workload.parameters[known], parameter, workload.name,
                             service->name) &&
               !workload.parameters[known].fallback)
        workload.parameters[known].fallback = parameter.fallback;
    }
}

bool mergeOwn(WorkloadScope& of, Parameter& own, std::set<std::string>& brought) {
  if (brought.erase(own.name) == 0) return false;
  Parameter& known = of.workload.parameters[of.workload.findParameter(own.name)];
  if (!sameParameter(of.emitter, own.range, known, own, of.workload.services.front()->name, of.workload.name))
    return true;
  if (!own.fallback) own.fallback = known.fallback;
  if (!own.refinement) own.refinement = known.refinement;
  if (own.doc.empty()) own.doc = known.doc;
  if (own.fallback && !own.type.isError())
    of.context.allows(*own.fallback, own.range, own.type, own.refinement, fmt::format("the default of '{}'", own.name));
  known = std::move(own);
  return true;
}

void bringActivity(WorkloadScope& of) {
  std::set<std::string> seen;
  for (const Workload* service : of.workload.services) {
    const std::vector<int> to = indicesIn(of.workload, *service);
    for (size_t i = 0; i < to.size(); ++i) {
      const Parameter& theirs = service->parameters[i];
      if (findNamed(of.declaration.params, theirs.name) >= 0) continue;  // the workload says itself when it is active
      Parameter& mine = of.workload.parameters[to[i]];
      const FormulaPtr when = remap(theirs.when, Op::Parameter, to);
      // A parameter of two services is active where one of them wants it.
      mine.when = seen.insert(theirs.name).second ? when
                  : mine.when && when             ? combine(Op::Or, mine.when, when)
                                                  : nullptr;
      mine.strong = remap(theirs.strong, Op::Parameter, to);
    }
  }
}

void bringMetricsAndRules(WorkloadScope& of) {
  Workload& workload = of.workload;
  for (const Workload* service : workload.services) {
    const std::vector<int> to = indicesIn(workload, *service);
    for (const Metric& metric : service->metrics)
      if (isFresh(of.emitter, "metric", metric, workload.metrics)) workload.metrics.push_back(metric);
    for (Rule rule : service->rules) {
      rule.condition = remap(rule.condition, Op::Parameter, to);
      rule.parameters = parametersOf(*rule.condition);
      workload.rules.push_back(std::move(rule));
    }
  }
}

void bringCommands(WorkloadScope& of, Command& command) {
  for (const ast::NamedUse& use : of.declaration.services) {
    const ast::Identifier& name = use.name.parts.back();
    const Workload* found = findService(of.workload, name.name);
    if (!found || !found->command || findNamed(command.services, name.name) >= 0) continue;  // reported
    const Workload& service = *found;
    const Command& theirs = *service.command;
    plan::Service& brought = command.services.emplace_back(plan::Service{shortName(service), theirs, {}});
    for (const Parameter& parameter : service.parameters) brought.parameters.push_back(parameter.name);
    const std::vector<int> to = indicesIn(of.workload, service);
    for (const Computed& computed : theirs.computed) {
      brought.parameters.push_back(computed.name);
      if (of.lets.contains(computed.name) || of.workload.findParameter(computed.name) >= 0 ||
          findNamed(command.computed, computed.name) >= 0)
        of.emitter.emit(name.range, diag::DuplicateName, "let", computed.name)
            .note(service.range, "an argument of this service has it, too");
      else
        command.computed.push_back(
            {computed.name, remap(computed.value, Op::Parameter, to), remap(computed.defined, Op::Parameter, to)});
    }
    command.written_services.push_back(theirs.written);
    // Inputs and the preparation are the workload's: one folder is prepared, and client and service find the same
    // files.
    std::ranges::copy(theirs.inputs, std::back_inserter(command.inputs));
    std::ranges::copy(theirs.copied, std::back_inserter(command.copied));
    if (theirs.preparation && command.preparation)
      of.emitter.emit(name.range, BadService, name.name, "has a 'prepare', and there is another one")
          .note(service.range, "let one of them prepare for both");
    else if (theirs.preparation)
      command.preparation = theirs.preparation;
    brought.command.inputs.clear();
    brought.command.copied.clear();
    brought.command.preparation.reset();
  }
}

/// A metric of a service: the word behind `from`, the dimension, and the place of its name in plans.
struct OfService {
  std::string_view from;
  Dimension::Base base;
  std::string plan::Ready::* name;
};
static constexpr OfService kServiceMetrics[] = {{"ready", Dimension::Time, &plan::Ready::metric},
                                                {"cpu_time", Dimension::Time, &plan::Ready::cpu_time},
                                                {"host_memory_peak", Dimension::Bytes, &plan::Ready::memory},
                                                {plan::kDeviceMemory, Dimension::Bytes, &plan::Ready::device_memory}};

/// `ready` of `from ready`; nothing without `from`, or if something else than a word stands behind it.
static std::optional<std::string> wordBehindFrom(const ast::MetricDecl& declaration) {
  const auto* word = declaration.source ? declaration.source->as<ast::NameExpr>() : nullptr;
  return word ? std::optional(joined(word->name)) : std::nullopt;
}

/// The metric of a service that a declaration means, by the word behind `from` or else by its own name. Null: a service
/// has no such metric.
static const OfService* sourceOf(const ast::MetricDecl& declaration) {
  const std::optional<std::string> word = wordBehindFrom(declaration);
  const std::string from = word ? *word : declaration.source ? "" : declaration.name.name;
  const auto* found = std::ranges::find(kServiceMetrics, from, &OfService::from);
  // Only `from` says `ready`: that word is a statement of its own.
  return found == std::end(kServiceMetrics) || (!word && found == kServiceMetrics) ? nullptr : found;
}

bool checkServiceMetric(WorkloadScope& of, const ast::MetricDecl& declaration, const Metric& metric) {
  const OfService* source = sourceOf(declaration);
  if (source && metric.dimension == Dimension::of(source->base) && !metric.series && !declaration.optional) return true;
  if (const auto word = wordBehindFrom(declaration); word && !source)
    return diag::unknownName(
        of.emitter, declaration.source->range, "metric of a service", *word,
        base::textsOf(kServiceMetrics, [](const OfService& one) { return std::string(one.from); }));
  return of.emitter.emit(metric.range, MetricOfService, metric.name)
      .note(
          "write 'metric {} : Time lower from ready', or 'cpu_time' (Time), 'host_memory_peak' or "
          "'device_memory_sampled' (Bytes) as the name or behind 'from'; what clients see is a metric of their "
          "workload",
          metric.dimension == Dimension::of(Dimension::Time) ? metric.name : "start");
}

std::optional<plan::Ready> checkReady(WorkloadScope& of) {
  using By = plan::Ready::By;
  const ast::WorkloadDecl& declaration = of.declaration;
  if (!declaration.ready)
    return of.emitter.emit(declaration.name.range, BadService, declaration.name.name, "never shows that it is ready")
        .note("write 'ready http(\"/\")', 'ready tcp', 'ready regex(\"…\")' or 'ready file(\"…\")' in it");
  const ast::Expr& how = *declaration.ready->how;
  const auto* name = how.as<ast::NameExpr>();
  const auto* call = how.as<ast::CallExpr>();
  const std::string word = name ? joined(name->name) : call ? joined(call->callee) : "";
  const std::optional<By> by = base::valueOf(plan::words::kReady, word);
  if (!by)
    return diag::unknownName(of.emitter, how.range, "way to show that a service is ready",
                             of.context.written(how.range),
                             base::textsOf(plan::words::kReady, [](const auto& word) { return word.text.str(); }));
  plan::Ready ready{*by, "", checkTimeout(of.context, of.scope, declaration.ready->timeout)};
  if (*by == By::Tcp && call)
    return of.emitter.emit(how.range, WrongArguments, word, "none", countedArguments(call->arguments.size()));
  if (*by != By::Tcp) {
    auto text = textOf(of.context, call, how.range, word,
                       *by == By::Http    ? "a path, such as \"/health\""
                       : *by == By::Regex ? "a pattern, such as \"listening\""
                                          : "the name of a file");
    if (!text) return std::nullopt;
    if (*by == By::Http && !text->starts_with('/')) text->insert(0, "/");
    if (*by == By::File && (text->starts_with('/') || text->find("..") != std::string::npos))
      return of.emitter.emit(how.range, BadService, declaration.name.name,
                             "shows that it is ready by a file outside of its folder");
    ready.what = std::move(*text);
  }
  for (const ast::MetricDecl& metric : declaration.metrics) {
    if (findNamed(of.workload.metrics, metric.name.name) < 0) continue;  // refused
    const OfService* source = sourceOf(metric);
    if (!source) continue;  // refused, and named like another one
    std::string& name = ready.*source->name;
    if (!name.empty())
      return of.emitter.emit(metric.name.range, BadService, declaration.name.name,
                             fmt::format("has two metrics 'from {}'", source->from));
    name = metric.name.name;
  }
  return ready;
}

bool tellsPort(const plan::Command& command) {
  return std::ranges::any_of(command.arguments,
                             [](const std::string& text) { return text.find("${port}") != std::string::npos; });
}

}  // namespace expc::check
