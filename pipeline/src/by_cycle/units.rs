//! Pools of functional units in time.

use hps_isa::inst::{ALL_CLASSES, Op, OpClass};
use hps_isa::likely::often;

use crate::config::{UnitTable, UnitTiming};
use crate::model::Ring;

/// The units of one pool. Where every class that uses it is fully pipelined, how many have begun
/// something in this cycle says all.
#[derive(Clone, Debug)]
struct Pool {
    units: u32,
    taken: u32,
    /// The cycle of which `taken` speaks.
    cycle: u64,
    /// When each unit is free, of a pool that is not fully pipelined.
    free: Box<[u64]>,
}

hps_isa::save_state! { Pool { units: skip, taken, cycle, free } }

/// All pools, and how each class uses them.
#[derive(Clone)]
pub struct Units {
    timing: [UnitTiming; OpClass::COUNT],
    /// By operation.
    latency_cycles: Box<[u64]>,
    pools: Ring<Pool>,
}

hps_isa::save_state! { Units { timing: skip, latency_cycles: skip, pools } }

impl Units {
    pub fn new(table: &UnitTable) -> Self {
        let timing = ALL_CLASSES.map(|class| table.timing(class));
        let empty = Pool {
            units: 0,
            taken: 0,
            cycle: 0,
            free: Box::default(),
        };
        let mut pools = Ring::new(table.pool_units().len(), empty);
        for (at, &units) in table.pool_units().iter().enumerate() {
            let pipelined = timing
                .iter()
                .all(|t| usize::from(t.pool) != at || t.interval_cycles == 1);
            let pool = pools.at_mut(at);
            pool.units = units;
            if !pipelined {
                pool.free = vec![0; units as usize].into_boxed_slice();
            }
        }
        let latency = |op: &Op| u64::from(table.latency_cycles(*op));
        Units {
            timing,
            latency_cycles: Op::ALL.iter().map(latency).collect(),
            pools,
        }
    }

    /// The same units, on which a class takes so many cycles more. A unit takes the next operation as soon as before.
    #[must_use]
    pub fn with_longer(mut self, class: OpClass, cycles: u32) -> Self {
        self.timing[class as usize].latency_cycles += cycles;
        self
    }

    /// From the start of an operation, in cycle `now` on a unit that it has taken, to its result. An
    /// operation that is faster than its class holds the unit no longer than that.
    #[inline]
    pub fn begin(&mut self, now: u64, class: OpClass, op: Op) -> u64 {
        let latency = self.latency_cycles[op as usize];
        let timing = self.timing(class);
        let interval = u64::from(timing.interval_cycles);
        if latency < interval {
            let pool = self.pools.at_mut(usize::from(timing.pool));
            if let Some(free) = pool.free.iter_mut().find(|free| **free == now + interval) {
                *free = now + latency;
            }
        }
        latency
    }

    /// How a class executes.
    #[inline(always)]
    pub fn timing(&self, class: OpClass) -> UnitTiming {
        self.timing[class as usize]
    }

    /// Takes a unit of a pool for something that keeps it for `interval` cycles. False if none is
    /// free in this cycle.
    #[inline(always)]
    pub fn take(&mut self, now: u64, pool: u8, interval: u32) -> bool {
        let pool = self.pools.at_mut(usize::from(pool));
        if often(pool.free.is_empty()) {
            if pool.cycle != now {
                pool.cycle = now;
                pool.taken = 0;
            }
            let free = pool.taken < pool.units;
            pool.taken += u32::from(free);
            return free;
        }
        match pool.free.iter_mut().find(|free| **free <= now) {
            Some(free) => {
                *free = now + u64::from(interval);
                true
            }
            None => false,
        }
    }

    /// The next cycle after `now` in which a unit becomes free.
    pub fn next_free(&self, now: u64) -> u64 {
        (0..self.pools.places())
            .flat_map(|at| self.pools.at(at).free.iter().copied())
            .filter(|free| *free > now)
            .min()
            .unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::MachineConfig;

    #[test]
    fn a_pool_gives_as_many_units_as_it_has() {
        let config = MachineConfig::preset("hps-4wide").unwrap();
        let mut units = Units::new(&UnitTable::new(&config.units));
        let alu = units.timing(OpClass::IntAlu);
        for now in 1..4 {
            for _ in 0..config.units.pools.0["int_alu"] {
                assert!(units.take(now, alu.pool, alu.interval_cycles));
            }
            assert!(!units.take(now, alu.pool, alu.interval_cycles));
        }
        assert_eq!(units.next_free(3), u64::MAX);
        let div = units.timing(OpClass::IntDiv);
        assert!(units.take(4, div.pool, div.interval_cycles));
        let free = 4 + u64::from(div.interval_cycles);
        assert!(!units.take(free - 1, div.pool, 1));
        assert_eq!(units.next_free(4), free);
        assert!(units.take(free, div.pool, 1));
    }
}
