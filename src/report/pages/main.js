"use strict";
const kPages = {compile: compile_page, explain: compile_page, run: run_page, compare: compare_page, accuracy: accuracy_page,
  "accuracy by layer": layer_accuracy_page, sweep: sweep_page};
kPages[document.body.dataset.kind](data, document.body.dataset.kind);
start();
