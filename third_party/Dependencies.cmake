# nlohmann_json, Boost.Context and, for the module, pybind11: from the system if
# it has them, else from the wheels of a Python environment (pip needs no root).

find_package(Python3 QUIET COMPONENTS Interpreter
  OPTIONAL_COMPONENTS Development.Module)

# Directory in which Python finds package NAME, or "".
function(jaxkern_wheel name result)
  set(${result} "" PARENT_SCOPE)
  if(Python3_EXECUTABLE)
    execute_process(
      COMMAND ${Python3_EXECUTABLE} -c
        "import importlib.util as u, os; s = u.find_spec('${name}'); \
print(os.path.dirname(s.origin or next(iter(s.submodule_search_locations)) + '/x') if s else '', end='')"
      OUTPUT_VARIABLE directory ERROR_QUIET)
    set(${result} "${directory}" PARENT_SCOPE)
  endif()
endfunction()

find_package(Threads REQUIRED)

find_package(nlohmann_json QUIET CONFIG)
if(NOT TARGET nlohmann_json::nlohmann_json)
  jaxkern_wheel(nlohmann_json wheel)
  find_path(JAXKERN_JSON_INCLUDE nlohmann/json.hpp HINTS ${wheel}/include)
  if(NOT JAXKERN_JSON_INCLUDE)
    message(FATAL_ERROR "nlohmann/json.hpp not found: install your system's "
      "nlohmann-json package or `pip install nlohmann-json`")
  endif()
  add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
  target_include_directories(nlohmann_json::nlohmann_json SYSTEM INTERFACE
    ${JAXKERN_JSON_INCLUDE})
endif()

find_package(boost_context QUIET CONFIG)
if(NOT TARGET Boost::context)
  jaxkern_wheel(cmeel wheel)
  find_package(Boost QUIET CONFIG COMPONENTS context
    HINTS ${wheel}/../cmeel.prefix)
  if(NOT TARGET Boost::context)
    message(FATAL_ERROR "Boost.Context not found: install your system's "
      "libboost-context-dev or `pip install cmeel-boost`")
  endif()
endif()

if(JAXKERN_PYTHON)
  set(PYBIND11_FINDPYTHON ON)
  if(Python3_EXECUTABLE AND NOT Python_EXECUTABLE)
    set(Python_EXECUTABLE ${Python3_EXECUTABLE})
  endif()
  jaxkern_wheel(pybind11 wheel)
  find_package(pybind11 CONFIG REQUIRED HINTS ${wheel}/share/cmake/pybind11)
endif()
