//! What a pickle would take in memory, told before Burn's reader reads it.
//!
//! That reader makes an object of a hundred bytes of an opcode of one, copies whatever the memo is
//! asked for, and names each tensor by its whole path, so that a long key above many tensors is in
//! memory once for each of them. Its own limits count neither what a class, a storage's key or a
//! shape takes in a copy, nor names. So the same opcodes are walked here with the same stack, and
//! nothing but counts on it. Where the reader would refuse, this goes on with a guess: it must never
//! stop before the reader does, nor count less.

mod weight;

use std::collections::HashMap;
use std::io::{self, BufRead, Read};

use weight::{Cost, Weight};

/// How often a name is in memory: in the reader's tensor and table, and in this crate's.
const NAMES: u64 = 8;

/// More memory than the file justifies.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooCostly {
    pub(crate) bytes: u64,
}

/// Walks pickles one after another.
pub(crate) struct Walk {
    spent: u64,
    limit: u64,
}

impl Walk {
    pub(crate) fn new(limit: u64) -> Self {
        Self { spent: 0, limit }
    }

    /// Walk one pickle, each byte of whose texts may be in memory `escaped` times. False where
    /// `source` ends or is no pickle before its last opcode.
    pub(crate) fn pickle(
        &mut self,
        source: &mut impl BufRead,
        escaped: u64,
    ) -> Result<bool, TooCostly> {
        let mut machine = Machine {
            source,
            line: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
        };
        loop {
            let cost = match machine.step() {
                Ok(Some(cost)) => cost,
                Ok(None) => break,
                Err(_) => return Ok(false),
            };
            let text = cost.text.saturating_mul(escaped);
            self.spend(cost.bytes.saturating_add(text))?;
        }
        let root = machine.pop();
        self.spend(root.names.saturating_mul(NAMES))?;
        Ok(true)
    }

    fn spend(&mut self, bytes: u64) -> Result<(), TooCostly> {
        self.spent = self.spent.saturating_add(bytes);
        match self.spent > self.limit {
            true => Err(TooCostly { bytes: self.spent }),
            false => Ok(()),
        }
    }
}

struct Machine<'s, S> {
    source: &'s mut S,
    line: Vec<u8>,
    stack: Vec<Weight>,
    marks: Vec<usize>,
    memo: HashMap<u32, Weight>,
}

impl<S: BufRead> Machine<'_, S> {
    /// Do what one opcode says, and return what that takes; nothing after the last one. Any error
    /// is an end.
    fn step(&mut self) -> io::Result<Option<Cost>> {
        let opcode = self.byte()?;
        Ok(Some(match opcode {
            b'.' => return Ok(None),
            // The protocol, a frame: nothing of objects.
            0x80 => self.skip(1)?,
            0x95 => self.skip(8)?,
            b'N' | 0x88 | 0x89 => self.push(Weight::scalar()),
            b'K' => self.number(1)?,
            b'M' => self.number(2)?,
            b'J' => self.number(4)?,
            b'G' => self.number(8)?,
            b'I' | b'L' | b'F' => {
                self.line()?;
                self.push(Weight::scalar())
            }
            b'P' => {
                let text = self.line()?;
                self.push(Weight::text(text))
            }
            // Latin-1, whose upper half takes two bytes in UTF-8.
            b'V' => {
                let text = self.line()? * 2;
                self.push(Weight::text(text))
            }
            b'c' => {
                let text = self.line()? + self.line()?;
                self.push(Weight::text(text))
            }
            b'U' | b'C' | 0x8c | 0x8a => self.sized(1)?,
            b'T' | b'X' | b'B' | 0x8b => self.sized(4)?,
            0x8d | 0x8e | 0x96 => self.sized(8)?,
            b'(' => {
                self.marks.push(self.stack.len());
                Weight::empty().made()
            }
            b')' | b']' | b'}' | 0x8f => self.push(Weight::empty()),
            b't' => {
                let items = self.pop_to_mark();
                self.push(Weight::tuple(&items))
            }
            b'l' | 0x91 => {
                let items = self.pop_to_mark();
                self.push(Weight::list(&items))
            }
            0x85..=0x87 => {
                let items = self.pop_many(usize::from(opcode - 0x84));
                self.push(Weight::tuple(&items))
            }
            b'd' => {
                let items = self.pop_to_mark();
                let dict = self.push(Weight::empty());
                self.top().insert(&items);
                dict
            }
            b'a' => {
                let items = self.pop_many(1);
                self.top().extend(&items);
                Cost::default()
            }
            b'e' | 0x90 => {
                let items = self.pop_to_mark();
                self.top().extend(&items);
                Cost::default()
            }
            b's' => {
                let items = self.pop_many(2);
                self.top().insert(&items);
                Cost::default()
            }
            b'u' => {
                let items = self.pop_to_mark();
                self.top().insert(&items);
                Cost::default()
            }
            b'0' => {
                // A mark on top is what goes.
                match self.marks.last() == Some(&self.stack.len()) {
                    true => drop(self.marks.pop()),
                    false => drop(self.pop()),
                }
                Cost::default()
            }
            b'1' => {
                self.pop_to_mark();
                Cost::default()
            }
            b'2' => {
                let top = *self.top();
                self.stack.push(top);
                top.copied()
            }
            b'g' => self.index().map(|index| self.fetch(index))?,
            b'h' => self.little(1).map(|index| self.fetch(index))?,
            b'j' => self.little(4).map(|index| self.fetch(index))?,
            b'p' => self.index().map(|index| self.memorise(index))?,
            b'q' => self.little(1).map(|index| self.memorise(index))?,
            b'r' => self.little(4).map(|index| self.memorise(index))?,
            0x94 => self.memorise(self.memo.len() as u64),
            b'Q' => {
                let id = self.pop();
                self.push(Weight::storage(&id))
            }
            0x93 => {
                let names = self.pop_many(2);
                self.push(Weight::state(&names))
            }
            b'R' | 0x81 => {
                let parts = self.pop_many(2);
                self.push(Weight::call(&parts))
            }
            0x92 => {
                let parts = self.pop_many(3);
                self.push(Weight::call(&parts))
            }
            b'b' => {
                let parts = self.pop_many(2);
                let built = self.push(Weight::state(&parts));
                match parts[0].memo {
                    Some(index) => self.memorise(index.into()),
                    None => built,
                }
            }
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }))
    }

    fn push(&mut self, object: Weight) -> Cost {
        self.stack.push(object);
        object.made()
    }

    fn pop(&mut self) -> Weight {
        self.stack.pop().unwrap_or_else(Weight::empty)
    }

    fn pop_many(&mut self, count: usize) -> Vec<Weight> {
        let mut items: Vec<Weight> = (0..count).map(|_| self.pop()).collect();
        items.reverse();
        items
    }

    fn pop_to_mark(&mut self) -> Vec<Weight> {
        let mark = self.marks.pop().unwrap_or(0);
        self.stack.split_off(mark.min(self.stack.len()))
    }

    fn top(&mut self) -> &mut Weight {
        if self.stack.is_empty() {
            self.stack.push(Weight::empty());
        }
        self.stack.last_mut().expect("pushed above")
    }

    fn fetch(&mut self, index: u64) -> Cost {
        let object = self.memo.get(&(index as u32)).copied();
        let object = object.unwrap_or_else(Weight::empty);
        self.stack.push(object);
        object.copied()
    }

    fn memorise(&mut self, index: u64) -> Cost {
        let index = index as u32;
        self.top().memo = Some(index);
        let object = *self.top();
        self.memo.insert(index, object);
        object.copied()
    }

    fn byte(&mut self) -> io::Result<u8> {
        self.little(1).map(|byte| byte as u8)
    }

    fn little(&mut self, bytes: usize) -> io::Result<u64> {
        let mut number = [0; 8];
        self.source.read_exact(&mut number[..bytes])?;
        Ok(u64::from_le_bytes(number))
    }

    fn skip(&mut self, bytes: u64) -> io::Result<Cost> {
        let skipped = io::copy(&mut self.source.by_ref().take(bytes), &mut io::sink())?;
        match skipped == bytes {
            true => Ok(Cost::default()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn number(&mut self, bytes: u64) -> io::Result<Cost> {
        self.skip(bytes)?;
        Ok(self.push(Weight::scalar()))
    }

    fn sized(&mut self, bytes: usize) -> io::Result<Cost> {
        let length = self.little(bytes)?;
        self.skip(length)?;
        Ok(self.push(Weight::text(length)))
    }

    /// The length of the rest of a line, which is then in `self.line`.
    fn line(&mut self) -> io::Result<u64> {
        self.line.clear();
        self.source.read_until(b'\n', &mut self.line)?;
        match self.line.pop() {
            Some(b'\n') => Ok(self.line.len() as u64),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn index(&mut self) -> io::Result<u64> {
        self.line()?;
        let text = std::str::from_utf8(&self.line).ok();
        let index = text.and_then(|text| text.trim_end().parse::<u32>().ok());
        let index = index.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData));
        index.map(u64::from)
    }
}
