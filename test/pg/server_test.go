package pg_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/pg"
)

// orphan is set in the process that a test kills.
const orphan = "AXLE_PG_ORPHAN"

func TestMain(m *testing.M) {
	if os.Getenv(orphan) != "" {
		s, err := pg.Start(context.Background())
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(s.URL("postgres"))
		select {}
	}
	pg.Main(m)
}

func exec1(ctx context.Context, url, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

func TestClonesAreEmptyAndApart(t *testing.T) {
	a, b := pg.New(t), pg.New(t)
	if err := exec1(t.Context(), a, "CREATE TABLE x (i int)"); err != nil {
		t.Fatal(err)
	}
	if err := exec1(t.Context(), b, "CREATE TABLE x (i int)"); err != nil {
		t.Fatal(err)
	}
	if err := exec1(t.Context(), b, "CREATE TABLE x (i int)"); err == nil {
		t.Fatal("a second table of the same name was made")
	}
}

func TestFilledDatabasesAreApart(t *testing.T) {
	fills := 0
	fill := func(url string) error {
		fills++
		return exec1(t.Context(), url, "CREATE TABLE x (i int)")
	}
	kind := fmt.Sprint(time.Now().UnixNano()) // a new one each time the test runs
	a, b := pg.NewLike(t, kind, fill), pg.NewLike(t, kind, fill)
	if err := exec1(t.Context(), a, "DROP TABLE x"); err != nil {
		t.Fatal(err)
	}
	if err := exec1(t.Context(), b, "DROP TABLE x"); err != nil || fills != 1 {
		t.Fatalf("the other one: %v; filled %d times", err, fills)
	}
}

// TestInitdbRunsOnce compares what initdb draws for each cluster that it makes.
func TestInitdbRunsOnce(t *testing.T) {
	t.Setenv("AXLE_CACHE", t.TempDir())
	var identifiers [3]uint64
	for i := range identifiers {
		if i == 2 { // nothing is kept any more
			t.Setenv("AXLE_CACHE", t.TempDir())
		}
		s, err := pg.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		conn, err := pgx.Connect(t.Context(), s.URL("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if err := conn.QueryRow(t.Context(), "SELECT system_identifier FROM pg_control_system()").Scan(&identifiers[i]); err != nil {
			t.Fatal(err)
		}
	}
	if identifiers[0] != identifiers[1] || identifiers[1] == identifiers[2] {
		t.Fatalf("identifiers %d: the first two are of one folder, the third is of its own", identifiers)
	}
}

func TestRestartAndCrashKeepWhatWasCommitted(t *testing.T) {
	s, err := pg.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	url, _, err := s.Clone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := exec1(t.Context(), url, "CREATE TABLE x AS SELECT 1 AS i"); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}
	if err := exec1(t.Context(), url, "SELECT i FROM x"); err == nil {
		t.Fatal("a crashed server answers")
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := exec1(t.Context(), url, "SELECT i FROM x"); err != nil {
		t.Fatal(err)
	}
}

func TestFailoverLosesWhatCameAfterTheSnapshot(t *testing.T) {
	s, err := pg.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	url, _, err := s.Clone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := exec1(t.Context(), url, "CREATE TABLE kept AS SELECT 1 AS i"); err != nil {
		t.Fatal(err)
	}
	failover, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := exec1(t.Context(), url, "CREATE TABLE lost AS SELECT 1 AS i"); err != nil {
		t.Fatal(err)
	}
	if err := failover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := exec1(t.Context(), url, "SELECT i FROM kept"); err != nil {
		t.Fatal(err)
	}
	if err := exec1(t.Context(), url, "SELECT i FROM lost"); err == nil {
		t.Fatal("what came after the snapshot is there")
	}
}

func TestPausedServerAnswersAfterResume(t *testing.T) {
	s, err := pg.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	resume, err := s.Pause()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := exec1(ctx, s.URL("postgres"), "SELECT 1"); err == nil {
		t.Fatal("a paused server answers")
	}
	resume()
	eventually.For(t, 30*time.Second, "answer", func() error { return exec1(t.Context(), s.URL("postgres"), "SELECT 1") })
}

func TestServerDiesWithItsParent(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orphan+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 200)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(string(line[:n]))
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	if err := exec1(t.Context(), url, "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually.For(t, 30*time.Second, "end of the server on port "+strconv.Itoa(int(config.Port)), func() error {
		if exec1(t.Context(), url, "SELECT 1") == nil {
			return errors.New("it still answers")
		}
		return nil
	})
}
