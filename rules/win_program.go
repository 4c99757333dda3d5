package rules

import (
	"fmt"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/postfix"
)

// winJudged is what is known of a distinct program text.
type winJudged struct {
	defect   *winDefect // nil: none
	numbered []string   // numeric variables that are assigned and never read
}

// maxWinPrograms bounds the programs that are remembered; healthy files have a few thousand.
const maxWinPrograms = 1 << 14

// winDefect is what is wrong with a program. Offsets are those of its text.
type winDefect struct {
	off, end int
	message  string
	more     []string // further defects, which may follow from the first
	effects  *lint.Effects
}

// winGiven are the variables a walker sets before it evaluates a program (src/processor/stackwalker_x86.cc). $ebx is
// there only in frames where it is known, which healthy programs rely on.
var winGiven = map[string]bool{
	"$ebp": true, "$esp": true, "$ebx": true, ".raSearch": true, ".raSearchStart": true,
	".cbLocals": true, ".cbSavedRegs": true, ".cbParams": true, ".cbCalleeParams": true,
}

// judgeWin compiles and judges a program.
func judgeWin(text []byte) *winJudged {
	p, _ := postfix.Compile(text, postfix.Win)
	j := new(winJudged)
	var found []winDefect
	for _, e := range p.Check(4) {
		if d, ok := winError(p, &e); ok {
			found = append(found, d)
		}
	}
	for i := range p.Names {
		n := &p.Names[i]
		if n.ReadFirst && !winGiven[n.Text] && n.Kind != postfix.Odd {
			op := &p.Ops[n.FirstRead]
			found = append(found, winDefect{int(op.Off), int(op.End), winUnknown(n), nil, &winFails})
		}
		if n.Assigns > 0 && n.Reads == 0 && isNumbered(n.Text) {
			j.numbered = append(j.numbered, n.Text)
		}
	}
	for _, essential := range [...]struct {
		name    string
		effects *lint.Effects
	}{{"$eip", &winNoIP}, {"$esp", &winNoSP}} {
		if i := p.Name(essential.name); i < 0 || p.Names[i].Assigns == 0 {
			found = append(found, winDefect{0, len(text), fmt.Sprintf("the program never assigns %s", essential.name), nil, essential.effects})
		}
	}
	if len(found) == 0 {
		return j
	}
	// The worst comes first: a crash, then what makes every evaluation fail, in the order found.
	worst := 0
	for i := range found {
		if winWeight(found[i].effects) > winWeight(found[worst].effects) {
			worst = i
		}
	}
	d := found[worst]
	for i := range found {
		if i != worst && len(d.more) < 4 {
			d.more = append(d.more, "also: "+found[i].message)
		}
	}
	j.defect = &d
	return j
}

// winWeight orders defects by what they are a cause of: a missing operator explains that $eip is never assigned.
func winWeight(e *lint.Effects) int {
	switch e {
	case &winCrash:
		return 4
	case &winLeftover, &winOddTarget:
		return 3
	case &winFails:
		return 2
	case &winNoIP, &winNoSP:
		return 1
	}
	return 0
}

// winError turns a defect of the expression into one of the record; false for what every walker tolerates.
func winError(p *postfix.Program, e *postfix.Error) (d winDefect, ok bool) {
	d = winDefect{e.Off, e.End, e.Message, nil, &winFails}
	switch e.Code {
	case postfix.Divides, postfix.AssignsLiteral:
		d.effects = &winCrash
	case postfix.Leftover:
		d.effects = &winLeftover
		tokens := strings.Fields(e.Token)
		if target := tokens[0]; len(tokens) > 1 && strings.HasPrefix(target, "$") {
			d.message = fmt.Sprintf("an assignment to %s is not completed: %s", target, e.Message)
		} else {
			d.message = fmt.Sprintf("%s is left over: %s", target, e.Message)
		}
	case postfix.BadAssignment:
		if strings.HasPrefix(e.Token, ".") {
			d.effects = &winOddTarget
		}
	case postfix.GluedAssign:
		return d, false
	case postfix.AlignPower, postfix.LiteralSign, postfix.LiteralSigned:
		d.effects = &winRustFails
	}
	return d, true
}

func winUnknown(n *postfix.Name) string {
	switch {
	case n.Assigns > 0:
		return fmt.Sprintf("%s is read before it is assigned", n.Text)
	case n.Text == "$eip" || n.Text == "$esi" || n.Text == "$edi":
		return fmt.Sprintf("%s is read, but walkers give programs no value for it", n.Text)
	}
	return fmt.Sprintf("%s is read and nothing gives it a value", n.Text)
}

// isNumbered reports whether a variable is a dollar and a number.
func isNumbered(name string) bool {
	return len(name) > 1 && name[0] == '$' && strings.Trim(name[1:], "0123456789") == ""
}
