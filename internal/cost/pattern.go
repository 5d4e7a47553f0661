package cost

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	// Budget is what one use of an expression may take beside other work: about 50 ms.
	Budget = 10_000
	// perStep is how many bytes of text a program of one instruction reads in a step.
	perStep = 1024
	// maxProgram is the size of the largest regular expression. It is known before the
	// program is made: `(a{1000}){1000}` is a short text.
	maxProgram = 10_000
	// ofClass and ofRange are what the text of an expression is charged for a class of Unicode,
	// such as \pL, and for a range that ends beyond ASCII where there are flags: a parser goes
	// through a table for the one, and without case through every character of the other.
	ofClass, ofRange = 250, 1000
	// perRange is how many ends of ranges of a class weigh as much as an instruction.
	perRange = 32
	// maxPrograms is the size of all that are kept, about 16 MiB.
	maxPrograms = 200_000
)

// Pattern is a compiled regular expression whose cost is known. It is safe for
// concurrent use.
type Pattern struct {
	*regexp.Regexp
	size, weight int
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
		patterns.Put(text, p, p.weight+len(text)/16+16)
	}
	return p, err
}

// New is Compile for one of very many, which would push out what others ask for again.
func New(text string) (*Pattern, error) {
	size, weight, err := measure(text)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &Pattern{re, size, weight}, nil
}

// Measure returns how many instructions an expression's program would have, for those that
// others compile. An error is that of Compile; nothing is compiled.
func Measure(text string) (size int, err error) {
	size, _, err = measure(text)
	return size, err
}

func measure(text string) (size, weight int, err error) {
	if parsing(text) > maxProgram {
		return 0, 0, fmt.Errorf("the regular expression is too large: at most %d classes of Unicode, such as \\pL, and ranges beyond ASCII under flags such as (?i) are allowed, each range as %d classes; use fewer", maxProgram/ofClass, ofRange/ofClass)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, 0, err
	}
	if size = instructions(tree); size > maxProgram {
		return 0, 0, fmt.Errorf("the regular expression is too large: it needs %d instructions, and at most %d are allowed; use fewer or shorter repetitions", size, maxProgram)
	}
	return size, size + ranges(tree)/perRange, nil
}

// parsing is what it takes to parse an expression, beyond its length.
func parsing(text string) int {
	total, flags := 0, strings.Contains(text, "(?")
	for i := 0; i+1 < len(text); i++ {
		switch next := text[i+1]; {
		case text[i] == '\\' && (next == 'p' || next == 'P'):
			total += ofClass
		case flags && text[i] == '-' && (next >= utf8.RuneSelf || strings.HasPrefix(text[i+1:], `\x`)):
			total += ofRange
		}
	}
	return total
}

// ranges is how many ends of ranges the classes of an expression have. A repetition keeps its
// class once.
func ranges(re *syntax.Regexp) (n int) {
	if re.Op == syntax.OpCharClass {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += ranges(sub)
	}
	return n
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
