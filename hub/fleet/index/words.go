package index

import (
	"slices"
	"strings"
	"sync"
)

// words numbers texts that many rows share. A number is free again when the last use
// ends. The empty text is 0 and is never freed.
type words struct {
	numbers map[string]uint32
	// texts are what is numbered, shown what people read instead, where it differs.
	texts []string
	shown []string
	uses  []uint32
	free  []uint32

	mu sync.Mutex
	// edition grows with each new text; ranks are those of editionRanked.
	edition, ranked uint64
	ranks           []uint32
}

func newWords() *words {
	return &words{numbers: map[string]uint32{"": 0}, texts: []string{""}, shown: []string{""}, uses: []uint32{1}, edition: 1}
}

// hold returns the number of a text and counts one more use; shown is what people
// read.
func (w *words) hold(text, shown string) uint32 {
	if text == "" {
		return 0
	}
	n, known := w.numbers[text]
	switch {
	case known:
	case len(w.free) > 0:
		n = w.free[len(w.free)-1]
		w.free = w.free[:len(w.free)-1]
	default:
		n = uint32(len(w.texts))
		w.texts, w.shown, w.uses = append(w.texts, ""), append(w.shown, ""), append(w.uses, 0)
	}
	if !known {
		text = strings.Clone(text)
		w.numbers[text], w.texts[n] = n, text
	}
	if w.shown[n] != shown {
		if shown == text {
			shown = w.texts[n]
		}
		w.shown[n] = strings.Clone(shown)
		w.edition++
	}
	w.uses[n]++
	return n
}

// release ends one use.
func (w *words) release(n uint32) {
	if n == 0 {
		return
	}
	if w.uses[n]--; w.uses[n] == 0 {
		delete(w.numbers, w.texts[n])
		w.texts[n], w.shown[n] = "", ""
		w.free = append(w.free, n)
	}
}

func (w *words) len() int { return len(w.texts) }

// order returns the rank of each number in the order of the shown texts. It is computed
// when a text is new since the last time.
func (w *words) order() []uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ranked == w.edition {
		return w.ranks
	}
	numbers := make([]uint32, len(w.texts))
	for n := range numbers {
		numbers[n] = uint32(n)
	}
	slices.SortFunc(numbers, func(a, b uint32) int { return strings.Compare(w.shown[a], w.shown[b]) })
	ranks := make([]uint32, len(numbers))
	for rank, n := range numbers {
		ranks[n] = uint32(rank)
	}
	w.ranks, w.ranked = ranks, w.edition
	return ranks
}
