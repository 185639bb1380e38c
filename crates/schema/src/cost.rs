//! Counts the highest cost of an evaluation before it runs. The walk is the one of the evaluation, except that it takes
//! every branch. The count itself stops at its limit.

use serde_json::{Map, Value};

use crate::graph::{Graph, Subschema};

/// Cost factor of a pairwise comparison of the items of a short list, per item.
const UNIQUE_STEPS: u64 = 16;

/// An upper bound of the work of an evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvaluationCost {
    /// Steps of the check.
    pub steps: u64,
    /// Visits of subschemas; part of the steps.
    pub visits: u64,
    /// Steps that explain why the value does not match, below `anyOf` and similar keywords.
    pub explanation: u64,
    /// The count stopped at its limit: the evaluation may cost more.
    pub exceeded: bool,
}

/// Counts up to `most` steps and `nesting` schemas inside one another.
pub(crate) fn of(graph: &Graph, value: &Value, most: u64, nesting: usize) -> EvaluationCost {
    let mut walk = CostWalk { graph, most, nesting, cost: EvaluationCost::default() };
    let start = Visit { node: 0, times: 1, marks: 0, explained: 0, depth: 0 };
    walk.cost.exceeded = walk.visit(start, Visited::Value(value)).is_err();
    walk.cost
}

struct CostWalk<'g> {
    graph: &'g Graph,
    most: u64,
    nesting: usize,
    cost: EvaluationCost,
}

/// What a subschema sees: a value, or the name of a member.
#[derive(Clone, Copy)]
enum Visited<'v> {
    Value(&'v Value),
    Name(&'v str),
}

#[derive(Clone, Copy)]
struct Visit {
    node: usize,
    /// How often the evaluation checks this value against this subschema on this path.
    times: u64,
    /// How often an outer `unevaluated…` asks what the subschema evaluates.
    marks: u64,
    /// How many outer keywords explain a mismatch with another visit.
    explained: u64,
    depth: usize,
}

struct Exceeded;

impl Visit {
    const fn to(self, node: usize) -> Self {
        Self { node, marks: 0, depth: self.depth.saturating_add(1), ..self }
    }

    const fn times(self, times: u64) -> Self {
        Self { times, ..self }
    }

    const fn explained(self) -> Self {
        Self { explained: self.explained.saturating_add(1), ..self }
    }
}

impl CostWalk<'_> {
    fn visit(&mut self, visit: Visit, seen: Visited<'_>) -> Result<(), Exceeded> {
        let graph = self.graph;
        let node = graph.nodes.get(visit.node).ok_or(Exceeded)?;
        if visit.depth > self.nesting {
            return Err(Exceeded);
        }
        self.cost.visits = self.cost.visits.saturating_add(visit.times);
        self.spend(visit, node.steps)?;
        // How often an `unevaluated…` of this or an outer subschema looks at this value.
        let marks = visit.marks.saturating_add(visit.times.saturating_mul(node.marks));
        let again = visit.times.saturating_add(marks);
        for same in &node.same {
            let next = Visit { marks, ..visit.to(same.node).times(again) };
            self.visit(if same.explained { next.explained() } else { next }, seen)?;
        }
        match seen {
            Visited::Name(text) => self.text(visit, node, text),
            Visited::Value(Value::String(text)) => self.text(visit, node, text),
            Visited::Value(Value::Array(items)) => self.items(visit, node, again, items),
            Visited::Value(Value::Object(members)) => self.members(visit, node, again, members),
            Visited::Value(_) => Ok(()),
        }
    }

    fn text(&mut self, visit: Visit, node: &Subschema, text: &str) -> Result<(), Exceeded> {
        self.spend(visit, node.text_steps.saturating_mul(text.len() as u64))
    }

    fn items(&mut self, visit: Visit, node: &Subschema, again: u64, items: &[Value]) -> Result<(), Exceeded> {
        if node.unique {
            for item in items {
                self.compare(visit, item)?;
            }
        }
        for (front, item) in node.front_items.iter().zip(items) {
            self.visit(visit.to(*front), Visited::Value(item))?;
        }
        for item in items {
            self.spend(visit, 1_u64.saturating_add(node.marks))?;
            for schema in &node.items {
                self.visit(visit.to(*schema), Visited::Value(item))?;
            }
            for schema in node.contains.iter().chain(&node.unevaluated) {
                self.visit(visit.to(*schema).times(again).explained(), Visited::Value(item))?;
            }
        }
        Ok(())
    }

    fn members(
        &mut self,
        visit: Visit,
        node: &Subschema,
        again: u64,
        members: &Map<String, Value>,
    ) -> Result<(), Exceeded> {
        let marked = again.saturating_sub(visit.times);
        for (name, value) in members {
            let matching = node.patterns.iter().fold(0_u64, |sum, (steps, _)| sum.saturating_add(*steps));
            let bytes = (name.len() as u64).saturating_add(1);
            let matching = matching.saturating_mul(bytes).saturating_mul(1_u64.saturating_add(marked));
            self.spend(visit, 1_u64.saturating_add(node.marks).saturating_add(matching))?;
            let seen = Visited::Value(value);
            match node.properties.get(name) {
                Some(schema) => self.visit(visit.to(*schema), seen)?,
                None => {
                    for schema in &node.other_members {
                        self.visit(visit.to(*schema), seen)?;
                    }
                }
            }
            for (_, schema) in &node.patterns {
                self.visit(visit.to(*schema), seen)?;
            }
            for schema in &node.unevaluated {
                self.visit(visit.to(*schema).times(again).explained(), seen)?;
            }
            for schema in &node.names {
                self.visit(visit.to(*schema).explained(), Visited::Name(name))?;
            }
        }
        Ok(())
    }

    /// `uniqueItems`: each part of an item is compared or hashed.
    fn compare(&mut self, visit: Visit, value: &Value) -> Result<(), Exceeded> {
        let bytes = value.as_str().map_or(0, str::len) as u64;
        self.spend(visit, UNIQUE_STEPS.saturating_mul((bytes / 8).saturating_add(1)))?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.compare(visit, item)),
            Value::Object(members) => members.iter().try_for_each(|(name, member)| {
                self.spend(visit, UNIQUE_STEPS.saturating_mul((name.len() as u64 / 8).saturating_add(1)))?;
                self.compare(visit, member)
            }),
            _ => Ok(()),
        }
    }

    fn spend(&mut self, visit: Visit, steps: u64) -> Result<(), Exceeded> {
        let steps = steps.saturating_mul(visit.times);
        self.cost.steps = self.cost.steps.saturating_add(steps);
        let explanation = steps.saturating_mul(visit.explained);
        self.cost.explanation = self.cost.explanation.saturating_add(explanation);
        if self.cost.steps > self.most { Err(Exceeded) } else { Ok(()) }
    }
}
