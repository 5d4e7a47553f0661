package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// fetch brings the module of p into the module cache, and returns its folder there.
func fetch(p provider) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", p.module+"@"+p.version)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	failed := cmd.Run()
	var module struct{ Dir, Sum, Error string }
	if err := json.Unmarshal(out.Bytes(), &module); err != nil || module.Error != "" || failed != nil {
		return "", fmt.Errorf("download %s@%s: %s%s", p.module, p.version, module.Error, errs.String())
	}
	if module.Sum != p.sum {
		return "", fmt.Errorf("%s@%s is not the module that was reviewed: its sum is %s, providers.go has %s", p.module, p.version, module.Sum, p.sum)
	}
	return module.Dir, nil
}
