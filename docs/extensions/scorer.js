// The numbers are those of Sphinx. Pages that explain a task come before those of single names, losses and decisions.
var Scorer = {
  score: ([page, , , , score]) =>
    score + (/^(start|tables|costs|segmentation|labels|structured|guide|faq)/.test(page) ? 10 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
