// Package similar finds the word that was probably meant by one that is not known, such as
// a kind of objects or a flag. It knows no list of words, and does not judge meaning.
//
// Invariant: of words that are at most 2 letters away, it
// returns the nearest, and of equals the first.
package similar

// Likely is the largest distance at which another word is offered.
const Likely = 2

// To returns the nearest of some words, empty if none is near. A word of up to 3 letters has
// no near ones: nearly all are.
func To(word string, known []string) string {
	best, meant := Likely+1, ""
	if len(word) <= 3 {
		return ""
	}
	for _, other := range known {
		if d := Distance(word, other); d < best {
			best, meant = d, other
		}
	}
	return meant
}

// Distance is how many bytes must be inserted, removed or replaced to turn one word into
// the other.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
