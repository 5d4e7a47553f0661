package cost

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// Budget is what one use of an expression may take beside other work: about 50 ms.
	Budget = 10_000
	// perStep is how many bytes of text a program of one instruction reads in a step.
	perStep = 1024
	// maxProgram is the size of the largest regular expression. It is known before the
	// program is made: `(a{1000}){1000}` is a short text.
	maxProgram = 10_000
	// maxPrograms is the size of all that are kept, about 16 MiB.
	maxPrograms = 200_000
)

// Pattern is a compiled regular expression whose cost is known. It is safe for
// concurrent use.
type Pattern struct {
	*regexp.Regexp
	size int
}

var patterns = NewCache[string, *Pattern](maxPrograms)

// Compile compiles a regular expression (RE2), once for all who ask for the same. An
// error is that of package regexp, or that the program is too large.
func Compile(text string) (*Pattern, error) {
	if p, ok := patterns.Get(text); ok {
		return p, nil
	}
	p, err := New(text)
	if err == nil {
		patterns.Put(text, p, p.size+len(text)/16+16)
	}
	return p, err
}

// New is Compile for one of very many, which would push out what others ask for again.
func New(text string) (*Pattern, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := instructions(tree)
	if size > maxProgram {
		return nil, fmt.Errorf("the regular expression is too large: it needs %d instructions, and at most %d are allowed; use fewer or shorter repetitions", size, maxProgram)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &Pattern{re, size}, nil
}

// Size is how many instructions its program has.
func (p *Pattern) Size() int { return p.size }

// Steps is what it takes to read a text of so many bytes once. Each is read again for the
// groups of the expression.
func (p *Pattern) Steps(bytes int) int {
	return 1 + p.size*(1+p.NumSubexp()/8)*bytes/perStep
}

// Match reports whether a text matches, and what that took. An error says that it would
// take more than is left, and that it was not tried.
func (p *Pattern) Match(text string, left int) (matches bool, steps int, err error) {
	if steps = p.Steps(len(text)); steps > left {
		return false, 0, TooDear(steps, left)
	}
	return p.MatchString(text), steps, nil
}

// TooDear is the error of a call that was not made.
func TooDear(steps, left int) error {
	return fmt.Errorf("takes %d steps on this text, and %d are left", steps, max(left, 0))
}

// instructions is about the size of the program of an expression. It stops where that is
// clearly too large.
func instructions(re *syntax.Regexp) int {
	total := 2
	switch re.Op {
	case syntax.OpLiteral:
		total += len(re.Rune)
	case syntax.OpRepeat:
		times := re.Max
		if times < 0 {
			times = re.Min + 1
		}
		return min(total+max(times, 1)*(instructions(re.Sub[0])+1), maxProgram*1000)
	}
	for _, sub := range re.Sub {
		if total += instructions(sub) + 1; total > maxProgram*1000 {
			return total
		}
	}
	return total
}
