package command

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/finalline"
)

// Interactive reports whether standard input is a terminal.
func (a *App) Interactive() bool {
	f, ok := a.In.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Secret reads a secret from a file, a prompt or standard input.
func (a *App) Secret(what, file string) (string, error) {
	if file != "" && file != "-" {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", errcode.New(errcode.Invalid, "read the %s: %w", what, err)
		}
		return strings.TrimSpace(string(data)), nil
	}
	if f, ok := a.In.(*os.File); ok && file == "" && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(a.Err, "%s: ", what)
		data, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(a.Err)
		return strings.TrimSpace(string(data)), err
	}
	line, err := bufio.NewReader(a.In).ReadString('\n')
	if strings.TrimSpace(line) == "" {
		return "", exitcode.Usagef("read the %s from standard input: %v; give it in a file, or log in with --browser or --device", what, err)
	}
	return strings.TrimSpace(line), nil
}

// maxInput is the longest value that is read from standard input.
const maxInput = 1 << 20

// ReadSecret reads a secret from where a flag says: a file, standard input or
// an environment variable. Without whole, one last line end is not part of it.
func (a *App) ReadSecret(flag, path string, whole bool) (string, error) {
	text, err := a.readSecret(flag, path)
	if err != nil || whole {
		return text, err
	}
	return finalline.Cut(text), nil
}

func (a *App) readSecret(flag, path string) (string, error) {
	name, ofVariable := strings.CutPrefix(path, "env:")
	switch {
	case path == "-" && a.Interactive():
		return a.Secret(strings.TrimSuffix(flag, "-file"), "")
	case path == "-":
		data, err := io.ReadAll(io.LimitReader(a.In, maxInput))
		return string(data), err
	case ofVariable:
		value := os.Getenv(name)
		if value == "" {
			return "", errcode.New(errcode.Invalid, "--%s names the variable %s, which is empty", flag, name)
		}
		return value, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", errcode.New(errcode.Invalid, "%w", err)
	}
	return string(data), nil
}

// SecretValues parses KEY=FILE.
func (a *App) SecretValues(pairs []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		key, from, ok := strings.Cut(pair, "=")
		if !ok || key == "" || from == "" {
			return nil, exitcode.Usagef("--secret %q is not KEY=FILE; FILE may be - or env:NAME, so that the value does not appear in process lists", key)
		}
		value, err := a.ReadSecret("secret", from, false)
		if err != nil {
			return nil, err
		}
		if value == "" {
			return nil, exitcode.Usagef("the secret %s is empty", key)
		}
		values[key] = value
	}
	return values, nil
}
