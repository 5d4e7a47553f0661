package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// Keeper starts programs for other processes, which find it by its folder. A program stays
// when the process ends that asked for it, for the next one, until the keeper is closed or
// its own process ends.
type Keeper struct {
	listener net.Listener

	mu      sync.Mutex
	closed  bool
	started int
	kept    map[int]*Program // those that run
}

// KeeperVariable is the variable that has the folder of the keeper of a run.
const KeeperVariable = "AXLE_KEEPER"

// request is what a process asks of a keeper, on a connection of its own: to start a
// program, else to signal one, else to say when one ends. The answers of the first and the
// last are two, of which the second comes when the program has ended.
type request struct {
	Start  *start         `json:",omitempty"`
	ID     int            `json:",omitempty"`
	Signal syscall.Signal `json:",omitempty"`
}

// start are the arguments of Start.
type start struct {
	Dir, Binary string
	Args        []string
}

// answer is what a keeper says of a program.
type answer struct {
	ID, PID int
	// Error is why there is none, and in the second answer how it ended.
	Error string `json:",omitempty"`
}

func socket(folder string) string { return filepath.Join(folder, "keeper") }

// NotesFile is the file in a keeper's folder that Note writes to.
const NotesFile = "notes"

// Note adds a line to what whoever closes the keeper of a folder prints.
func Note(folder, line string) error {
	f, err := os.OpenFile(filepath.Join(folder, NotesFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// Keep starts a keeper in this process, for those that know the folder.
func Keep(folder string) (*Keeper, error) {
	listener, err := net.Listen("unix", socket(folder))
	if err != nil {
		return nil, err
	}
	k := &Keeper{listener: listener, kept: map[int]*Program{}}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // it is closed
			}
			go k.serve(conn)
		}
	}()
	return k, nil
}

// Close ends all programs.
func (k *Keeper) Close() error {
	k.mu.Lock()
	k.closed = true
	var kept []*Program
	for _, p := range k.kept {
		kept = append(kept, p)
	}
	k.mu.Unlock()
	for _, p := range kept {
		p.Kill()
	}
	return k.listener.Close()
}

// serve answers one request. That its process does not read is that process's matter.
func (k *Keeper) serve(conn net.Conn) {
	defer conn.Close()
	var r request
	if json.NewDecoder(conn).Decode(&r) != nil {
		return
	}
	out := json.NewEncoder(conn)
	p, err := k.find(r)
	if err != nil {
		_ = out.Encode(answer{Error: err.Error()})
		return
	}
	if r.Signal != 0 {
		p.Signal(r.Signal)
	}
	_ = out.Encode(answer{ID: p.id, PID: p.pid})
	if r.Signal != 0 {
		return
	}
	<-p.done
	end := answer{ID: p.id}
	if p.err != nil {
		end.Error = p.err.Error()
	}
	_ = out.Encode(end)
}

// find returns the program of a request, which it starts if that was asked for.
func (k *Keeper) find(r request) (*Program, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.Start == nil {
		// It is taken out a moment after its end.
		if p := k.kept[r.ID]; p != nil && !p.Ended() {
			return p, nil
		}
		return nil, fmt.Errorf("program %d has ended", r.ID)
	}
	if k.closed {
		return nil, errors.New("the keeper is closed")
	}
	p, err := Start(r.Start.Dir, r.Start.Binary, r.Start.Args)
	if err != nil {
		return nil, err
	}
	k.started++
	p.id = k.started
	k.kept[p.id] = p
	go func() {
		<-p.done
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.kept, p.id)
	}()
	return p, nil
}
