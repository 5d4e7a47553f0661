package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"syscall"
)

// StartKept is Start by the keeper of a folder.
func StartKept(folder, dir, binary string, args []string) (*Program, error) {
	p := newProgram(dir, filepath.Base(binary))
	if err := p.follow(folder, request{Start: &start{Dir: dir, Binary: binary, Args: args}}); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	return p, nil
}

// Kept returns a program that the keeper of a folder runs, by its ID. The folder of its log
// and its binary are as they were when it was started.
func Kept(folder string, id int, dir, binary string) (*Program, error) {
	p := newProgram(dir, filepath.Base(binary))
	if err := p.follow(folder, request{ID: id}); err != nil {
		return nil, fmt.Errorf("find %s: %w", p.name, err)
	}
	return p, nil
}

// ID is the number by which its keeper knows it; 0 without one.
func (p *Program) ID() int { return p.id }

// follow asks for a program, and learns when it ends.
func (p *Program) follow(folder string, r request) error {
	conn, answers, first, err := ask(folder, r)
	if err != nil {
		return err
	}
	p.id, p.pid = first.ID, first.PID
	p.signal = func(s syscall.Signal) {
		// Else it has ended, as the keeper has if it does not answer.
		if conn, _, _, err := ask(folder, request{ID: p.id, Signal: s}); err == nil {
			conn.Close()
		}
	}
	go func() {
		defer conn.Close()
		var end answer
		if err := answers.Decode(&end); err != nil {
			p.err = fmt.Errorf("its keeper has ended: %w", err)
		} else if end.Error != "" {
			p.err = errors.New(end.Error)
		}
		close(p.done)
	}()
	return nil
}

// ask sends a request and reads its first answer.
func ask(folder string, r request) (net.Conn, *json.Decoder, answer, error) {
	var first answer
	conn, err := net.Dial("unix", socket(folder))
	if err != nil {
		return nil, nil, first, err
	}
	answers := json.NewDecoder(conn)
	if err = json.NewEncoder(conn).Encode(r); err == nil {
		err = answers.Decode(&first)
	}
	if err == nil && first.Error != "" {
		err = errors.New(first.Error)
	}
	if err != nil {
		conn.Close()
	}
	return conn, answers, first, err
}
