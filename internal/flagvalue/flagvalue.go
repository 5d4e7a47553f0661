// Package flagvalue has the flags of lists and of pairs. They leave values as they were
// given: those of pflag read them as lines of CSV, which drops quotes, splits at commas
// inside of values, and keeps the first line only.
//
// Every program uses these; internal/archtest refuses those of pflag.
package flagvalue

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Pairs adds a flag that takes one KEY=VALUE each time. The value is kept as it is.
func Pairs(f *pflag.FlagSet, into *map[string]string, name, usage string) {
	f.Var(&pairs{into: into, split: one, cut: first}, name, usage)
}

// Labels adds a flag that takes KEY=VALUE, several with commas. Values of labels and tags
// have no commas; what follows one and has no = belongs to the value.
func Labels(f *pflag.FlagSet, into *map[string]string, name, usage string) {
	f.Var(&pairs{into: into, split: labels, cut: first}, name, usage)
}

// Mapped adds a flag that takes one VALUE=NAME each time, where the value may itself have
// commas and =, as a distinguished name of LDAP has: the name follows the last =.
func Mapped(f *pflag.FlagSet, into *map[string]string, name, usage string) {
	f.Var(&pairs{into: into, split: one, cut: last}, name, usage)
}

// List adds a flag that takes values, several with commas; \, is a comma in a value.
func List(f *pflag.FlagSet, into *[]string, name, usage string, standard ...string) {
	ListP(f, into, name, "", usage, standard...)
}

// ListP is List with a short name.
func ListP(f *pflag.FlagSet, into *[]string, name, short, usage string, standard ...string) {
	*into = standard
	f.VarP(&list{into: into}, name, short, usage)
}

// PathsP adds a flag of files and folders of this machine, several with commas. One that is
// there with its commas is taken as it is; else it is a list.
func PathsP(f *pflag.FlagSet, into *[]string, name, short, usage string) {
	f.VarP(&paths{list{into: into}}, name, short, usage)
}

type paths struct{ list }

// Set implements pflag.Value.
func (p *paths) Set(text string) error {
	if _, err := os.Stat(text); err == nil {
		p.add(text)
		return nil
	}
	return p.list.Set(text)
}

type pairs struct {
	into  *map[string]string
	split func(text string) []string
	cut   func(pair string) (key, value string, err error)
	set   bool
}

// Set implements pflag.Value. The first call replaces the standard value.
func (p *pairs) Set(text string) error {
	all := map[string]string{}
	if p.set {
		maps.Copy(all, *p.into)
	}
	for _, pair := range p.split(text) {
		key, value, err := p.cut(pair)
		if err != nil {
			return err
		}
		all[key] = value
	}
	*p.into, p.set = all, true
	return nil
}

// Type implements pflag.Value. Cobra suggests flags of this type again.
func (p *pairs) Type() string { return "stringToString" }

// String implements pflag.Value.
func (p *pairs) String() string {
	if p.into == nil || len(*p.into) == 0 {
		return ""
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(*p.into)) {
		all = append(all, key+"="+(*p.into)[key])
	}
	return "[" + strings.Join(all, ",") + "]"
}

func one(text string) []string { return []string{text} }

func labels(text string) (all []string) {
	for _, part := range strings.Split(text, ",") {
		if len(all) > 0 && !strings.Contains(part, "=") {
			all[len(all)-1] += "," + part
			continue
		}
		all = append(all, part)
	}
	return all
}

var errNoPair = errors.New("it must be KEY=VALUE")

func first(pair string) (key, value string, err error) {
	key, value, ok := strings.Cut(pair, "=")
	if !ok || key == "" {
		return "", "", errNoPair
	}
	return key, value, nil
}

func last(pair string) (key, value string, err error) {
	at := strings.LastIndexByte(pair, '=')
	if at < 1 {
		return "", "", errors.New("it must be VALUE=NAME")
	}
	key = pair[:at]
	// Pairs with commas between them end the same way as one distinguished name does.
	with, without := 0, 0
	for _, part := range separated(key) {
		if strings.Contains(part, "=") {
			with++
		} else {
			without++
		}
	}
	if with > 0 && without > 0 {
		return "", "", fmt.Errorf("%q is neither a value nor a distinguished name; repeat the flag for each value", key)
	}
	return key, pair[at+1:], nil
}

type list struct {
	into *[]string
	set  bool
}

// Set implements pflag.Value. The first call replaces the standard value, and an empty
// text is an empty list.
func (l *list) Set(text string) error {
	var parts []string
	if text != "" {
		for _, part := range separated(text) {
			parts = append(parts, strings.ReplaceAll(part, `\,`, ","))
		}
	}
	l.add(parts...)
	return nil
}

func (l *list) add(values ...string) {
	all := []string{}
	if l.set {
		all = slices.Clone(*l.into)
	}
	*l.into, l.set = append(all, values...), true
}

// Type implements pflag.Value. Cobra suggests flags of this type again.
func (l *list) Type() string { return "stringSlice" }

// String implements pflag.Value.
func (l *list) String() string {
	if l.into == nil || len(*l.into) == 0 {
		return ""
	}
	return "[" + strings.Join(*l.into, ",") + "]"
}

// separated splits at the commas that have no backslash before them.
func separated(text string) []string {
	var all []string
	start := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case ',':
			all, start = append(all, text[start:i]), i+1
		}
	}
	return append(all, text[start:])
}
