package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/frame"
	"github.com/axle-cd/axle/render/tool"
)

// parent is the agent, which answers one question at a time.
type parent struct {
	in  io.Reader
	out io.Writer
}

// tool has the parent run the tool of a step.
func (p *parent) tool(step int, input []byte) (tool.Output, error) {
	question := &renderv1.Tool{Step: int32(step), Input: input}
	err := frame.Write(p.out, &renderv1.ToParent{Message: &renderv1.ToParent_Tool{Tool: question}})
	if err != nil {
		return tool.Output{}, err
	}
	var message renderv1.ToChild
	if err := frame.Read(p.in, &message); err != nil {
		return tool.Output{}, fmt.Errorf("receive the output of a tool: %w", err)
	}
	answer := message.GetTool()
	if answer == nil {
		return tool.Output{}, errors.New("the answer to a tool request has another type")
	}
	return tool.Output{Text: answer.GetOutput(), Words: answer.GetWords(), Problem: answer.GetError(), Generates: answer.GetGenerates()}, nil
}

// lookup returns a live object, a list if name is empty, and an empty map if there is
// none.
func (p *parent) lookup(apiVersion, kind, namespace, name string) (map[string]any, error) {
	question := &renderv1.Lookup{ApiVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
	err := frame.Write(p.out, &renderv1.ToParent{Message: &renderv1.ToParent_Lookup{Lookup: question}})
	if err != nil {
		return nil, err
	}
	var message renderv1.ToChild
	if err := frame.Read(p.in, &message); err != nil {
		return nil, fmt.Errorf("receive the answer to a lookup: %w", err)
	}
	answer := message.GetLookup()
	if answer == nil {
		return nil, errors.New("the answer to a lookup has another type")
	}
	if answer.GetError() != "" {
		return nil, fmt.Errorf("lookup of %s %s %s/%s: %s", apiVersion, kind, namespace, name, answer.GetError())
	}
	object := map[string]any{}
	if len(answer.GetObject()) == 0 {
		return object, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(answer.GetObject()))
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("lookup of %s %s: %w", apiVersion, kind, err)
	}
	return object, nil
}
