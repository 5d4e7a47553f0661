package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
)

// recordFile is of the whole suite, or of a run that is none of it and says where.
var recordFile = cmp.Or(os.Getenv("AXLE_SUITE_RECORD"), "bin/suite.json")

// The files below the working folder, the root of the checkout.
const (
	flakesFile  = "test/flakes.txt"
	budgetsFile = "test/budgets.txt"
)

const usage = "usage: suite start | STEP -- COMMAND ... | table [--short] | calibrate | budgets | soaked | due"

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(max(code, 1))
	}
	os.Exit(code)
}

// run returns the exit code.
func run(args []string) (int, error) {
	if len(args) > 2 && args[1] == "--" {
		return runStep(args[0], args[2:])
	}
	if len(args) == 0 {
		return 2, errors.New(usage)
	}
	switch args[0] {
	case "start":
		return 0, start()
	case "table":
		return 0, table(len(args) > 1 && args[1] == "--short")
	case "calibrate":
		return 0, calibrate()
	case "budgets":
		return 0, budgets()
	case "soaked":
		return 0, soaked()
	case "due":
		return due()
	case "keep":
		return 0, keepPrograms(args[1:])
	}
	return 2, errors.New(usage)
}
