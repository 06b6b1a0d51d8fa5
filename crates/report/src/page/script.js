// Shows the values of the point nearest to the pointer. The page is complete without it.
// `data-script` on the root says how it went, for the test that opens the page in a browser.
(() => {
  'use strict';
  const root = document.documentElement;
  try {
    const model = JSON.parse(document.getElementById('model').textContent);
    const tip = document.getElementById('tip');
    const points = svg => svg.dataset.points.split(';').filter(Boolean).map(text => {
      const [key, x, y] = text.split(' ');
      return { key, x: +x, y: +y };
    });
    const element = (name, text) => {
      const made = document.createElement(name);
      made.textContent = text;
      return made;
    };
    let ring = null;

    const hide = () => { tip.hidden = true; if (ring) { ring.remove(); ring = null; } };

    const show = (svg, point) => {
      const entry = model.tips[point.key];
      if (!entry) return hide();
      tip.replaceChildren(element('b', entry[0]), ...entry[1].map(([label, value]) => {
        const row = element('span', '');
        row.append(element('i', label), element('span', value));
        return row;
      }));
      tip.hidden = false;
      if (ring) ring.remove();
      ring = document.createElementNS(svg.namespaceURI, 'circle');
      for (const [name, value] of [['class', 'ring'], ['cx', point.x], ['cy', point.y], ['r', 6.5]]) {
        ring.setAttribute(name, value);
      }
      svg.append(ring);
      // Next to the point, on the side that has room.
      const at = ring.getBoundingClientRect(), box = tip.getBoundingClientRect();
      const right = at.right + 12 + box.width < innerWidth;
      const x = right ? at.right + 12 : at.left - 12 - box.width;
      const y = at.top - box.height / 2;
      tip.style.left = Math.max(6, Math.min(x, innerWidth - box.width - 6)) + 'px';
      tip.style.top = Math.max(6, Math.min(y, innerHeight - box.height - 6)) + 'px';
    };

    let trials = new Set(), count = 0;
    for (const svg of document.querySelectorAll('svg[data-points]')) {
      const all = points(svg);
      if (!all.length) continue;
      for (const { key } of all) {
        count += 1;
        if (!model.tips[key]) throw new Error('no tooltip for ' + key);
        if (/^\d+t\d+$/.test(key)) trials.add(key);
      }
      // Left to right, and within a column from top to bottom: the order of the arrow keys.
      const order = [...all].sort((a, b) => a.x - b.x || a.y - b.y);
      let current = -1;
      const nearest = event => {
        const matrix = svg.getScreenCTM().inverse();
        const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
        let best = null, least = 60 * 60;
        for (const point of all) {
          // A median counts as 3 px nearer than the trials around it, which it stands for.
          const far = (point.x - x) ** 2 + (point.y - y) ** 2 - (/^\d+p\d+$/.test(point.key) ? 9 : 0);
          if (far < least) { least = far; best = point; }
        }
        if (best) { current = order.indexOf(best); show(svg, best); } else hide();
      };
      svg.addEventListener('pointermove', nearest);
      svg.addEventListener('pointerdown', nearest);
      svg.addEventListener('pointerleave', event => { if (event.pointerType === 'mouse') hide(); });
      svg.addEventListener('blur', hide);
      svg.addEventListener('keydown', event => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (event.key === 'Escape') return hide();
        if (event.key === 'Home') current = 0;
        else if (event.key === 'End') current = order.length - 1;
        else if (step) current = Math.max(0, Math.min(order.length - 1, current + step));
        else return;
        event.preventDefault();
        show(svg, order[current]);
      });
    }
    addEventListener('scroll', hide, { passive: true });
    addEventListener('beforeprint', () => {
      hide();
      for (const details of document.querySelectorAll('details')) details.open = true;
    });
    root.dataset.trials = model.trials;
    root.dataset.trialsDrawn = trials.size;
    root.dataset.hoverPoints = count;
    root.dataset.script = 'ok';
  } catch (error) {
    root.dataset.script = 'error: ' + error.message;
  }
})();
