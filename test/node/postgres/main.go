// Command postgres begins the image of Postgres that pods of a test node run. It reads
// the variables that the official image reads: on an empty volume it makes a cluster of
// databases with POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB in PGDATA. Then it
// becomes the server. A volume that was left half made is made anew.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	data := os.Getenv("PGDATA")
	if _, err := os.Stat(filepath.Join(data, "PG_VERSION")); err != nil {
		if err := initialise(data); err != nil {
			fmt.Fprintln(os.Stderr, "Error:", err)
			os.Exit(1)
		}
	}
	server, err := exec.LookPath("postgres")
	if err == nil {
		err = syscall.Exec(server, []string{"postgres", "-D", data, "-c", "listen_addresses=*", "-k", "/var/run/postgresql"}, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "Error:", err)
	os.Exit(1)
}

func initialise(data string) error {
	fresh, password := data+".new", "/tmp/password"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := os.WriteFile(password, []byte(os.Getenv("POSTGRES_PASSWORD")), 0o600); err != nil {
		return err
	}
	defer os.Remove(password)
	if err := run("", "initdb", "-D", fresh, "--username="+os.Getenv("POSTGRES_USER"), "--pwfile="+password,
		"--encoding=UTF8", "--locale=C.UTF-8", "--auth-local=trust", "--auth-host=scram-sha-256"); err != nil {
		return err
	}
	if err := run(fmt.Sprintf("CREATE DATABASE %q;\n", os.Getenv("POSTGRES_DB")), "postgres", "--single", "-D", fresh, "postgres"); err != nil {
		return err
	}
	access, err := os.OpenFile(filepath.Join(fresh, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(access, "host all all all scram-sha-256"); err != nil {
		return err
	}
	if err := access.Close(); err != nil {
		return err
	}
	return os.Rename(fresh, data)
}

func run(input, program string, args ...string) error {
	c := exec.Command(program, args...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(input), os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	return nil
}
