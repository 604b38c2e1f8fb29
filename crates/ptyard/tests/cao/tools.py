"""An agent that has tools: `use TOOL ARGUMENTS` in the first line of a message has it call one of its MCP server.

Arguments: the configuration with the server, `few` or `all`, and a file for what the tools answer. The server is started
as agents start theirs: by the configuration, with few variables besides those that it names, or with all variables of
the terminal and none of the configuration's.
"""

import json
import os
import subprocess
import sys

CONFIGURATION, VARIABLES, ANSWERS = sys.argv[1:4]
FEW = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")


def environment(named):
    if VARIABLES == "all":
        return None
    return {**{name: os.environ[name] for name in FEW if name in os.environ}, **named}


def call(tool, arguments):
    with open(CONFIGURATION, encoding="utf-8") as file:
        (server,) = [one for name, one in json.load(file)["mcpServers"].items() if name == "cao-mcp-server"]
    program = subprocess.Popen(
        [server["command"], *server["args"]],
        env=environment(server["env"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )

    def say(message):
        program.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        program.stdin.flush()

    def ask(number, method, params):
        say({"id": number, "method": method, "params": params})
        for line in program.stdout:
            message = json.loads(line)
            if message.get("id") == number:
                return message
        raise SystemExit("the server left")

    who = {"name": "agent", "version": "1"}
    ask(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who})
    say({"method": "notifications/initialized"})
    answer = ask(2, "tools/call", {"name": tool, "arguments": arguments})
    program.stdin.close()
    program.wait()
    return answer.get("result", answer)


def main():
    line = sys.stdin.readline().strip()
    if not line.startswith("use "):
        print("You said: " + line)
        return
    _, tool, arguments = line.split(" ", 2)
    answer = call(tool, json.loads(arguments))
    with open(ANSWERS, "a", encoding="utf-8") as file:
        file.write(json.dumps(answer.get("structuredContent", answer)) + "\n")
    print("I used " + tool)


main()
