//! The candidates of all segments together, and which of them are hot.

use std::sync::Arc;

use bitvec::slice::BitSlice;
use bitvec::vec::BitVec;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::segment::SegmentStream;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Candidate {
    #[serde(
        serialize_with = "write_addresses",
        deserialize_with = "read_addresses"
    )]
    addresses: Arc<[u64]>,
    /// Uses that lie in no other candidate.
    top_uses: u64,
    /// Shorter candidates directly inside this one, and how often each occurs in it.
    children: Vec<(u32, u32)>,
}

impl Candidate {
    fn length(&self) -> u64 {
        self.addresses.len() as u64
    }
}

/// Candidates as a graph in which every edge leads to a shorter stream.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct Candidates {
    nodes: Vec<Candidate>,
    ids: FxHashMap<Arc<[u64]>, u32>,
    dropped: u64,
}

/// Candidates, which of them are found by their addresses, and how many were given up.
type Written = (Vec<Candidate>, Vec<u32>, u64);

impl From<Candidates> for Written {
    fn from(candidates: Candidates) -> Written {
        let mut found: Vec<u32> = candidates.ids.into_values().collect();
        found.sort_unstable();
        (candidates.nodes, found, candidates.dropped)
    }
}

impl TryFrom<Written> for Candidates {
    type Error = &'static str;

    fn try_from((nodes, found, dropped): Written) -> Result<Candidates, Self::Error> {
        let children = nodes.iter().flat_map(|node| &node.children);
        let mut named = children.map(|child| child.0).chain(found.iter().copied());
        if named.any(|id| id as usize >= nodes.len()) {
            return Err("there is no such candidate");
        }
        let ids = found
            .into_iter()
            .map(|id| (Arc::clone(&nodes[id as usize].addresses), id))
            .collect();
        Ok(Candidates {
            nodes,
            ids,
            dropped,
        })
    }
}

fn write_addresses<S: Serializer>(addresses: &Arc<[u64]>, to: S) -> Result<S::Ok, S::Error> {
    addresses.as_ref().serialize(to)
}

fn read_addresses<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[u64]>, D::Error> {
    Ok(Vec::deserialize(from)?.into())
}

impl Candidates {
    /// How many candidates were given up for lack of room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Adds a segment's candidates, then shrinks to at most `capacity` of them.
    pub fn merge(&mut self, segment: Vec<SegmentStream>, capacity: usize) {
        let mut in_segment = FxHashSet::default();
        let ids: Vec<u32> = segment
            .iter()
            .map(|stream| match self.id(&stream.addresses) {
                id if in_segment.insert(id) => id,
                // Equal streams of one segment were left apart on purpose.
                _ => self.push(stream.addresses.as_slice().into()),
            })
            .collect();
        for (stream, &id) in segment.into_iter().zip(&ids) {
            let children: Vec<_> = stream
                .children
                .iter()
                .map(|&(child, times)| (ids[child as usize], times))
                .collect();
            // The same stream can be parsed differently in two segments. The parse that knows more
            // of what is inside stands for both.
            let finer = self.covered(&children) > self.covered(&self.nodes[id as usize].children);
            let node = &mut self.nodes[id as usize];
            node.top_uses += stream.top_uses;
            if finer {
                node.children = children;
            }
        }
        if self.nodes.len() > capacity {
            self.shrink(capacity / 2);
        }
    }

    /// The hot streams and their heat, longest first: heat is length times cold uses, and a
    /// stream's uses inside a longer hot stream are not cold.
    pub fn hot(&self, threshold: u64) -> Vec<(&[u64], u64)> {
        let mut cold_uses: Vec<u64> = self.nodes.iter().map(|node| node.top_uses).collect();
        let mut hot = Vec::new();
        for id in self.by_falling_length() {
            let (node, cold) = (&self.nodes[id as usize], cold_uses[id as usize]);
            let heat = node.length().saturating_mul(cold);
            if heat >= threshold.max(1) {
                hot.push((&*node.addresses, heat));
            } else {
                pass_on(&mut cold_uses, cold, &node.children);
            }
        }
        hot
    }

    fn id(&mut self, addresses: &[u64]) -> u32 {
        if let Some(&id) = self.ids.get(addresses) {
            return id;
        }
        let addresses: Arc<[u64]> = addresses.into();
        let id = self.push(Arc::clone(&addresses));
        self.ids.insert(addresses, id);
        id
    }

    /// A new candidate.
    fn push(&mut self, addresses: Arc<[u64]>) -> u32 {
        let id = self.nodes.len() as u32;
        self.nodes.push(Candidate {
            addresses,
            top_uses: 0,
            children: Vec::new(),
        });
        id
    }

    /// References of a stream that lie in these children.
    fn covered(&self, children: &[(u32, u32)]) -> u64 {
        children
            .iter()
            .map(|&(id, times)| self.nodes[id as usize].length() * u64::from(times))
            .sum()
    }

    /// Parents before children; equal lengths by content, so that the order is the same however
    /// the candidates came in.
    fn by_falling_length(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| {
            let (a, b) = (&self.nodes[a as usize], &self.nodes[b as usize]);
            b.length()
                .cmp(&a.length())
                .then_with(|| a.addresses.cmp(&b.addresses))
        });
        order
    }

    /// Keeps the `count` candidates that could be hottest. What was used through one that goes is
    /// used through its children from then on, so that no use of a kept candidate is lost.
    fn shrink(&mut self, count: usize) {
        let order = self.by_falling_length();
        let mut uses: Vec<u64> = self.nodes.iter().map(|node| node.top_uses).collect();
        for &id in &order {
            let passed = uses[id as usize];
            pass_on(&mut uses, passed, &self.nodes[id as usize].children);
        }
        let mut ranked = order.clone();
        ranked.sort_by_key(|&id| {
            std::cmp::Reverse(
                self.nodes[id as usize]
                    .length()
                    .saturating_mul(uses[id as usize]),
            )
        });
        let mut kept: BitVec = BitVec::repeat(false, self.nodes.len());
        ranked
            .iter()
            .take(count)
            .for_each(|&id| kept.set(id as usize, true));
        self.dropped += self.nodes.len().saturating_sub(count) as u64;

        let mut top_uses: Vec<u64> = self.nodes.iter().map(|node| node.top_uses).collect();
        for &id in order.iter().filter(|&&id| !kept[id as usize]) {
            let passed = top_uses[id as usize];
            pass_on(&mut top_uses, passed, &self.nodes[id as usize].children);
        }
        for &id in order.iter().rev() {
            let children = self.kept_children(id, &kept);
            self.nodes[id as usize].children = children;
            self.nodes[id as usize].top_uses = top_uses[id as usize];
        }
        self.renumber(&kept);
    }

    /// The children of a node with each that is not kept replaced by its own children, which have
    /// been replaced already.
    fn kept_children(&self, id: u32, kept: &BitSlice) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        for &(child, times) in &self.nodes[id as usize].children {
            if kept[child as usize] {
                all.push((child, times));
            } else {
                let inner = &self.nodes[child as usize].children;
                all.extend(
                    inner
                        .iter()
                        .map(|&(id, inner_times)| (id, times * inner_times)),
                );
            }
        }
        all.sort_unstable();
        all.dedup_by(|next, first| {
            let same = next.0 == first.0;
            first.1 += if same { next.1 } else { 0 };
            same
        });
        all
    }

    fn renumber(&mut self, kept: &BitSlice) {
        let mut next = 0;
        let numbers: Vec<u32> = kept
            .iter()
            .by_vals()
            .map(|keep| {
                next += u32::from(keep);
                // Unused for those that go.
                next.saturating_sub(1)
            })
            .collect();
        let mut place = kept.iter().by_vals();
        self.nodes.retain(|_| place.next().unwrap_or(false));
        self.nodes.shrink_to_fit();
        self.ids = FxHashMap::default();
        for (id, node) in self.nodes.iter_mut().enumerate() {
            node.children
                .iter_mut()
                .for_each(|child| child.0 = numbers[child.0 as usize]);
            self.ids.insert(Arc::clone(&node.addresses), id as u32);
        }
    }
}

fn pass_on(uses: &mut [u64], passed: u64, children: &[(u32, u32)]) {
    for &(child, times) in children {
        uses[child as usize] += passed * u64::from(times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(addresses: &[u64], top_uses: u64, children: &[(u32, u32)]) -> SegmentStream {
        SegmentStream {
            addresses: addresses.to_vec(),
            top_uses,
            children: children.to_vec(),
        }
    }

    /// `12` six times in all by way of `1212` twice in `12121212 9` with one use, and twice alone.
    fn nested() -> Vec<SegmentStream> {
        vec![
            stream(&[1, 2], 2, &[]),
            stream(&[1, 2, 1, 2], 0, &[(0, 2)]),
            stream(&[1, 2, 1, 2, 1, 2, 1, 2, 9], 1, &[(1, 2)]),
        ]
    }

    #[test]
    fn cold_parents_give_their_uses_to_their_children() {
        let mut candidates = Candidates::default();
        candidates.merge(nested(), 10);
        assert_eq!(candidates.hot(10), [(&[1, 2][..], 12)]);
        assert_eq!(candidates.hot(8), [(&[1, 2, 1, 2, 1, 2, 1, 2, 9][..], 9)]);
        assert_eq!(candidates.hot(13), []);
        candidates.merge(nested(), 10);
        assert_eq!(candidates.hot(20), [(&[1, 2][..], 24)]);
    }

    #[test]
    fn shrinking_loses_no_use_of_what_is_kept() {
        // Potential heat: 12 of `12`, 8 of `1212` (goes), 9 of the longest.
        let mut candidates = Candidates::default();
        candidates.merge(nested(), 10);
        candidates.shrink(2);
        assert_eq!((candidates.nodes.len(), candidates.dropped()), (2, 1));
        assert_eq!(candidates.hot(10), [(&[1, 2][..], 12)]);
        candidates.shrink(1);
        assert_eq!(candidates.hot(10), [(&[1, 2][..], 12)]);
        candidates.merge(nested(), 10);
        assert_eq!(candidates.hot(20), [(&[1, 2][..], 24)]);
    }
}
