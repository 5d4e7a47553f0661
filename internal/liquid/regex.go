package liquid

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/axle-cd/axle/internal/cost"
)

// regexes are Sprig's functions of regular expressions. Each expression is compiled once
// in the process, and what a call takes is charged before it.
func (e *Engine) regexes() map[string]any {
	match := func(regex, s string) (bool, error) {
		p, err := e.pattern(regex, s, 1)
		return err == nil && p.MatchString(s), err
	}
	find := func(regex, s string) (string, error) {
		p, err := e.pattern(regex, s, 1)
		if err != nil {
			return "", err
		}
		return p.FindString(s), nil
	}
	findAll := func(regex, s string, n int) ([]string, error) {
		p, err := e.pattern(regex, s, 1)
		if err != nil {
			return nil, err
		}
		return p.FindAllString(s, n), nil
	}
	split := func(regex, s string, n int) ([]string, error) {
		p, err := e.pattern(regex, s, 1)
		if err != nil {
			return nil, err
		}
		return p.Split(s, n), nil
	}
	literal := func(regex, s, with string) (string, error) {
		p, err := e.replaces(regex, s, with, 0)
		if err != nil {
			return "", err
		}
		return p.ReplaceAllLiteralString(s, with), nil
	}
	replace := func(regex, s, with string) (string, error) {
		p, err := e.replaces(regex, s, with, strings.Count(with, "$"))
		if err != nil {
			return "", err
		}
		return p.ReplaceAllString(s, with), nil
	}
	return map[string]any{
		// Sprig's does not match what cannot be read.
		"regexMatch": func(regex, s string) (bool, error) {
			ok, err := match(regex, s)
			if unreadable := new(syntax.Error); errors.As(err, &unreadable) {
				err = nil
			}
			return ok, err
		},
		"mustRegexMatch": match,
		"regexFind":      find, "mustRegexFind": find,
		"regexFindAll": findAll, "mustRegexFindAll": findAll,
		"regexSplit": split, "mustRegexSplit": split,
		"regexReplaceAllLiteral": literal, "mustRegexReplaceAllLiteral": literal,
		"regexReplaceAll": replace, "mustRegexReplaceAll": replace,
	}
}

// pattern returns a compiled expression after charging for that many passes over a text.
func (e *Engine) pattern(regex, s string, passes int) (*cost.Pattern, error) {
	p, err := cost.Compile(regex)
	if err != nil {
		return nil, err
	}
	return p, e.step(passes * p.Steps(len(s)))
}

// replaces is pattern for a replacement that uses so many groups. With limits, its result
// is known to be not too large before it is made.
func (e *Engine) replaces(regex, s, with string, groups int) (*cost.Pattern, error) {
	if !e.limited() {
		return e.pattern(regex, s, 1)
	}
	p, err := e.pattern(regex, s, 2)
	if err != nil {
		return nil, err
	}
	if made := len(s)*(1+groups) + len(p.FindAllStringIndex(s, -1))*len(with); made > maxText {
		return nil, fmt.Errorf("makes more than %d bytes", maxText)
	}
	return p, nil
}
