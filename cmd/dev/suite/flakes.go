package main

import (
	"fmt"
	"os"
	"strings"
)

// readFlakes reads the list of known flakes: "package TestName" to what is known about it.
func readFlakes(file string) (map[string]string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	n := 0
	for line := range strings.Lines(string(content)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, why, ok := strings.Cut(line, " — ")
		words := strings.Fields(name)
		if !ok || len(words) != 2 || strings.TrimSpace(why) == "" {
			return nil, fmt.Errorf("%s:%d: want \"PACKAGE TestName — what is known about it\", with the whole import path", file, n)
		}
		known[strings.Join(words, " ")] = strings.TrimSpace(why)
	}
	return known, nil
}
