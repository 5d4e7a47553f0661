package daemon_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/axle-cd/axle/internal/daemon"
)

func TestEnvironmentFillsOnlyWhatTheCommandLineLeft(t *testing.T) {
	t.Setenv("AXLE_TEST_DATA_DIR", "from the environment")
	t.Setenv("AXLE_TEST_LISTEN", "not used")
	flags := pflag.NewFlagSet("t", pflag.ContinueOnError)
	dir, listen := flags.String("data-dir", "", ""), flags.String("listen", "", "")
	if err := flags.Parse([]string{"--listen", "given"}); err != nil {
		t.Fatal(err)
	}
	if err := daemon.FromEnv(flags, "AXLE_TEST_"); err != nil {
		t.Fatal(err)
	}
	if *dir != "from the environment" || *listen != "given" {
		t.Errorf("data-dir %q, listen %q", *dir, *listen)
	}
}

func TestBadVariableIsNamed(t *testing.T) {
	t.Setenv("AXLE_TEST_EVERY", "soon")
	flags := pflag.NewFlagSet("t", pflag.ContinueOnError)
	flags.Duration("every", 0, "")
	if err := daemon.FromEnv(flags, "AXLE_TEST_"); err == nil || !strings.Contains(err.Error(), "AXLE_TEST_EVERY") {
		t.Errorf("err = %v", err)
	}
}

func TestLoggerTakesFormatAndLevel(t *testing.T) {
	var out bytes.Buffer
	log, err := daemon.Logger(&out, "json", "warn")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("quiet")
	log.Warn("loud")
	if got := out.String(); strings.Contains(got, "quiet") || !strings.Contains(got, `"msg":"loud"`) {
		t.Errorf("log %q", got)
	}
	for flag, args := range map[string][2]string{"--log-format": {"xml", ""}, "--log-level": {"", "shout"}} {
		if _, err := daemon.Logger(&out, args[0], args[1]); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: err = %v", flag, err)
		}
	}
}
