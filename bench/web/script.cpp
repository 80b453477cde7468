#include <bench/web/page.hpp>

namespace penstock {

std::string_view live_page_script() {
  return R"js(
'use strict';
const byId = (id) => document.getElementById(id);
const SVG = 'http://www.w3.org/2000/svg';

function element(tag, attributes = {}, ...children) {
  const drawn = ['svg', 'rect', 'polygon', 'polyline'].includes(tag);
  const made = drawn ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const number = (value, digits = 0) =>
  value.toLocaleString('en-US', {minimumFractionDigits: digits, maximumFractionDigits: digits});
const percent = (share) => `${number(100 * share)} %`;
function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; ++unit) value /= 1024;
  return `${number(value, unit && 1)} ${units[unit]}`;
}
function duration(seconds) {
  const two = (value) => String(Math.floor(value)).padStart(2, '0');
  if (seconds < 60) return `${number(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
  return `${Math.floor(seconds / 3600)}:${two(seconds / 60 % 60)}:${two(seconds % 60)}`;
}
const clock = (seconds) => new Date(1000 * seconds).toLocaleTimeString();
const sum = (values) => values.reduce((left, right) => left + right, 0);

const pid = (loader) => `${loader.pid}${loader.here ? '' : ' (in another container)'}`;
const rank = (loader) => `${loader.rank}/${loader.world}`;
const state = (loader) => loader.state + (loader.for_s > 0 ? ` ${duration(loader.for_s)}` : '');
const memory = (loader) => sum(Object.entries(loader.memory).map(([name, size]) => name === 'device' ? 0 : size));
const bottleneck = ({verdict}) => verdict.stage ? `${verdict.binds}: ${verdict.stage}` : verdict.binds;
const identity = (loader) => `${loader.user}/${pid(loader)}.${loader.loader}`;

const tile = (value, label) => element('div', {}, element('b', {}, value), element('span', {}, label));
function row(kind, heading, cells) {
  const made = element('tr', kind ? {class: kind} : {}, element('th', {scope: 'row'}, heading));
  for (const [text, name] of cells) made.append(element('td', name ? {class: name} : {}, text));
  return made;
}
const bar = (share) => element('svg', {class: 'bar', 'aria-hidden': 'true'},
                               element('rect', {width: `${Math.min(100, 100 * share).toFixed(1)}%`}));

function showMachine({node, gpus}) {
  const tiles = [tile(`${number(node.cores_busy, 1)} of ${node.cores}`, 'cores busy')];
  if (node.quota) tiles.push(tile(`${number(node.group_busy ?? 0, 1)} of ${number(node.quota, 1)}`, 'cores, own group'));
  for (const disk of node.disks)
    tiles.push(tile(percent(disk.busy), `disk ${disk.name}, reads ${number(disk.read_bytes_per_s / 1e6, 1)} MB/s`));
  for (const net of node.networks)
    tiles.push(tile(`${number(net.received_bytes_per_s / 1e6, 1)} MB/s`, `network ${net.name} receives`));
  gpus.forEach((gpu, i) => tiles.push(
    tile(percent(gpu.busy), `GPU ${i}, ${bytes(gpu.memory_used)} of ${bytes(gpu.memory_total)}`)));
  byId('node').replaceChildren(...tiles);
}

// A torch DataLoader has no buffers of penstock.
const ofBuffers = (loader, text) => loader.slabs ? text : '-';
function showLoaders({loaders, trainings}) {
  byId('compare').hidden = loaders.length === 0;
  const slow = new Set(trainings.map((training) => training.slow));
  byId('rows').replaceChildren(...loaders.map((loader, i) => row(slow.has(i) ? 'slow' : '', loader.program, [
    [pid(loader)], [rank(loader)], [number(loader.samples_per_s, 1)], [ofBuffers(loader, number(loader.mb_per_s, 1))],
    [percent(loader.data_wait)], [ofBuffers(loader, number(loader.level.ready))],
    [ofBuffers(loader, `${number(loader.level.free_slabs)}/${number(loader.slabs)}`)],
    [ofBuffers(loader, bytes(memory(loader)))],
    [state(loader), 'word'], [bottleneck(loader), 'word']])));
  byId('ranks').replaceChildren(...trainings.map((training) => element('p', {},
    ...(training.slow === null ? [] : [element('span', {class: 'badge'}, 'slow rank'), ' ']),
    `Ranks of ${training.world}: ${training.text}.`)));
}

function plot(kind) {
  const area = element('polygon'), line = element('polyline');
  const svg = element('svg', {class: `plot ${kind}`, viewBox: '0 0 119 100', preserveAspectRatio: 'none', role: 'img'},
                      area, line);
  const caption = element('figcaption');
  return {figure: element('figure', {}, caption, svg), update(values, top, text) {
    const points = values.map((value, i) =>
      `${119 - (values.length - 1 - i)},${(100 - 98 * Math.min(1, value / (top || 1))).toFixed(1)}`).join(' ');
    line.setAttribute('points', points);
    area.setAttribute('points', `${119 - (values.length - 1)},100 ${points} 119,100`);
    svg.setAttribute('aria-label', text);
    say(caption, text);
  }};
}

// The parts of a step are any list of names and shares. A name keeps its colour, also while other parts come and go.
const colours = new Map([['your program', 'own'], ['compute', 'own']]);
function colour(name) {
  if (!colours.has(name)) colours.set(name, `p${(colours.size - 2) % 6}`);
  return colours.get(name);
}
function splitOf(parts) {
  const width = (share) => `${(100 * share).toFixed(2)}%`;
  let x = 0;
  const rects = parts.map(({name, share}) => {
    const made = element('rect', {class: colour(name), x: width(x), width: width(share)});
    x += share;
    return made;
  });
  const key = parts.map(({name, share}) => element('span', {},
    element('svg', {'aria-hidden': 'true'}, element('rect', {class: colour(name), width: '100%', height: '100%'})),
    `${name} ${percent(share)}`));
  return [element('svg', {class: 'split', 'aria-hidden': 'true'}, ...rects), element('div', {class: 'key'}, ...key)];
}

function table(label, headings, rows) {
  const cells = headings.map(([text, name]) => element('th', {scope: 'col', ...(name ? {class: name} : {})}, text));
  return element('table', {'aria-label': label}, element('thead', {}, element('tr', {}, ...cells)),
                 element('tbody', {}, ...rows));
}
function stagesOf(loader) {
  const rows = Object.entries(loader.stages).map(([name, stage]) => row('', name, [
    [number(stage.threads)], [bar(loader.busy[name]), 'chart'], [percent(loader.busy[name])],
    [duration(loader.data_wait_by_stage_s[name])]]));
  return table('Stages', [['stage'], ['threads'], ['busy', 'word'], ['share'], ['data wait']], rows);
}
function memoryOf(loader) {
  const rows = Object.entries(loader.memory).filter(([, size]) => size > 0).map(
    ([name, size]) => row('', name.replace('_', ' '), [[bytes(size)]]));
  return table('Memory', [['memory'], ['size']], rows);
}

class Card {
  constructor(loader, open) {
    this.title = element('h2');
    this.badge = element('span', {class: 'badge'});
    this.lead = element('p', {class: 'lead'});
    this.tiles = element('div', {class: 'tiles'});
    this.rate = plot('rate');
    this.wait = plot('wait');
    this.split = element('div');
    this.tables = element('div', {class: 'grid'});
    this.node = element('details', open ? {open: ''} : {}, element('summary', {}, this.title, this.badge), this.lead,
                        this.tiles, element('div', {class: 'grid'}, this.rate.figure, this.wait.figure),
                        element('h3', {}, 'Time of a step'), this.split, this.tables);
  }
  update(loader, interval) {
    say(this.title, `${loader.program}, PID ${pid(loader)}, loader ${loader.loader}, rank ${rank(loader)}`);
    say(this.badge, loader.state === 'running' ? '' : state(loader));
    this.badge.hidden = loader.state === 'running';
    say(this.lead, loader.diagnosis);
    this.tiles.replaceChildren(
      tile(number(loader.samples_per_s, 1), 'samples/s'), tile(percent(loader.data_wait), 'data wait'),
      tile(number(loader.samples), 'samples'), tile(number(loader.batches), 'batches'),
      tile(number(loader.epochs), 'epochs ended'), tile(number(loader.bad_samples), 'invalid samples'));
    const rates = loader.history.samples_per_s, most = Math.max(...rates);
    const span = duration(rates.length * interval);
    this.rate.update(rates, most, `samples/s in the last ${span}, at most ${number(most, 1)}`);
    this.wait.update(loader.history.data_wait, 1, `data wait in the last ${span}, of 100 %`);
    this.split.replaceChildren(...splitOf(loader.step));
    const tables = [stagesOf(loader), memoryOf(loader)];
    this.tables.replaceChildren(...tables.filter((made) => made.tBodies[0].rows.length > 0));
  }
}

const cards = new Map();
function showCards({loaders, interval_s: interval}) {
  const names = new Set(loaders.map(identity));
  for (const [name, card] of cards) {
    if (names.has(name)) continue;
    card.node.remove();
    cards.delete(name);
  }
  for (const loader of loaders) {
    if (!cards.has(identity(loader))) {
      const card = new Card(loader, loaders.length <= 4);
      cards.set(identity(loader), card);
      byId('cards').append(card.node);
    }
    cards.get(identity(loader)).update(loader, interval);
  }
}

function showEnded({ended}) {
  byId('ended').hidden = ended.length === 0;
  byId('past_rows').replaceChildren(...ended.map((loader) => row('', loader.program, [
    [pid(loader)], [rank(loader)], [number(loader.samples)], [number(loader.epochs)],
    [percent(loader.data_wait_s / (loader.wall_s || 1))], [clock(loader.ended_at)]])));
}

function showStatus(text, stale) {
  say(byId('message'), text);
  byId('status').hidden = text === '';
  byId('main').classList.toggle('stale', stale);
}
function show(data) {
  if (!data.looks) return;  // one look has no rates yet
  showMachine(data);
  showLoaders(data);
  showCards(data);
  showEnded(data);
  byId('left_out').hidden = data.left_out.length === 0;
  byId('omissions').replaceChildren(...data.left_out.map((text) => element('li', {}, text)));
  say(byId('clock'), `updated ${clock(data.time)}`);
  document.title = data.loaders.length === 0 ? 'penstock top' :
    `${number(sum(data.loaders.map((loader) => loader.samples_per_s)))} samples/s - penstock top`;
  const none = data.ended.length > 0 ? 'The training has ended.' :
    'No loader is running. A loader appears here when its program takes a batch.';
  showStatus(data.loaders.length === 0 ? none : '', false);
}

async function ask() {
  const answer = await fetch('data.json', {cache: 'no-store', signal: AbortSignal.timeout(10000)});
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.json();
}
function showSilence(last) {
  document.title = 'stale - penstock top';
  const from = last?.time ? `These numbers are from ${clock(last.time)}. ` : '';
  showStatus(`penstock top does not answer. ${from}If you restart it, open the address that it prints.`, true);
}
async function update(last = null) {
  const data = await ask().catch(() => null);
  if (data) show(data); else showSilence(last);
  const newest = data ?? last;
  setTimeout(update, 1000 * (newest?.interval_s ?? 1), newest);
}
update();
)js";
}

}  // namespace penstock
