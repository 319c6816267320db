// What the page does without its plots: whatever is folded away is printed, too.
'use strict';
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('details:not([open])')) {
    details.dataset.folded = '';
    details.open = true;
  }
});
addEventListener('afterprint', () => {
  for (const details of document.querySelectorAll('details[data-folded]')) {
    delete details.dataset.folded;
    details.open = false;
  }
});
